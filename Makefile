# The environment is .venv; each target sets it up first, and again only after its requirements changed.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCH := .venv/.ready-bench
VERL := .venv/.ready-verl
GPU_PYTHON ?= .venv-gpu/bin/python

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup setup-bench setup-verl train-verl train-verl-smoke repro flow nightly ui play ablations-smoke supervision test lint lock clean

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## create .venv and install everything into it

setup-bench: $(BENCH)  ## the benchmarks' packages as well: τ², ToolTalk, NESTFUL, T-Eval's sentence model

setup-verl: $(VERL)  ## verl as well: the cluster engine's plans, tests and smoke run (docs/verl.md)

repro: setup  ## the main job: rebuild whatever is out of date, or a profile's run: PROFILE=paper-data UNTIL=validate
	@git rev-parse --git-dir >/dev/null 2>&1 || git init --quiet
	$(BIN)/python -m $(if $(PROFILE),stages.profile $(PROFILE) $(if $(UNTIL),--until $(UNTIL)),dvc repro $(UNTIL))

flow: setup  ## the same stages as a Prefect flow, with retries and a table of results
	@git rev-parse --git-dir >/dev/null 2>&1 || git init --quiet
	$(BIN)/python -m flows.pipeline

nightly: setup  ## the pipeline every night at 03:00 UTC, until Ctrl-C; other options: NIGHTLY="serve --profile smoke"
	@git rev-parse --git-dir >/dev/null 2>&1 || git init --quiet
	$(BIN)/python -m flows.nightly $(or $(NIGHTLY),serve)

ui: setup  ## Prefect and MLflow in the browser, on loopback, until Ctrl-C
	$(BIN)/python -m flows.ui

play: setup  ## call tools by hand on a live session: SERVER=banking, or ROW=ID for a task of the dataset
	$(BIN)/python -m stages.play $(if $(SERVER),--server $(SERVER)) $(if $(ROW),--row $(ROW))

train-verl: setup  ## GRPO on GPUs with verl, in the environment of GPU_PYTHON (docs/verl.md): PROFILE=prove-qwen3-4b
	@test -n "$(PROFILE)" || { echo "train-verl: name a profile, PROFILE=prove-qwen3-4b or a sibling" >&2; exit 2; }
	@git rev-parse --git-dir >/dev/null 2>&1 || git init --quiet
	$(BIN)/python -m stages.profile $(PROFILE) --until skills
	cd runs/$(PROFILE) && $(abspath $(GPU_PYTHON)) -m stages.train

train-verl-smoke: setup-verl  ## the cluster engine once, whole, on two CPU cores, with a stop and a resume
	$(BIN)/python -m tests.bench.verl_smoke

supervision: setup  ## the supervisory signals under both rewards, and a setting that collapses; goes on where it stopped
	@git rev-parse --git-dir >/dev/null 2>&1 || git init --quiet
	$(BIN)/python -m stages.profile supervision
	cd runs/supervision && .venv/bin/python -m flows.ablations --grid supervision

ablations-smoke: setup  ## the reward without each of its parts, at a small budget under three seeds
	@git rev-parse --git-dir >/dev/null 2>&1 || git init --quiet
	$(BIN)/python -m dvc repro validate
	$(BIN)/python -m flows.ablations --grid rewards

test: setup-bench  ## all tests
	$(BIN)/python -m pytest -n 2

lint: setup-bench  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# torch is left out: pyproject.toml pins it, and which of its builds fits differs from machine to machine.
lock: setup  ## solve requirements.lock anew from pyproject.toml
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip compile --quiet --universal --upgrade --no-emit-package torch \
		--custom-compile-command "make lock" --extra dev --extra bench --extra ray --extra verl -o requirements.lock pyproject.toml

clean:  ## remove built data and reports (not the environment, the tracked runs or DVC's cache)
	rm -rf data reports/*.html reports/metrics reports/plots reports/viewer

$(READY): pyproject.toml requirements.lock requirements-nodeps.txt
	@test -x $(BIN)/python || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
			{ echo "set-up: $(PYTHON) must be Python 3.11 or newer: make setup PYTHON=/path/to/python3" >&2; exit 1; }; \
		$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
			{ echo "set-up: $(PYTHON) lacks its venv package: install it (Debian: python3-venv)" >&2; exit 1; }; \
		$(PYTHON) -m venv .venv; }
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip install --quiet --python $(BIN)/python -c requirements.lock -e '.[dev]'
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -r requirements-nodeps.txt
	@touch $@

$(BENCH): $(READY) requirements-bench.txt
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip install --quiet --python $(BIN)/python -c requirements.lock -e '.[bench]'
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -r requirements-bench.txt
	@touch $@

$(VERL): $(READY)
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip install --quiet --python $(BIN)/python -c requirements.lock -e '.[verl]'
	@touch $@
