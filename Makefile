# The environment is .venv; each target sets it up first, and again only after its requirements changed.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCH := .venv/.ready-bench
VERL := .venv/.ready-verl
DOCS := .venv/.ready-docs
GPU_PYTHON ?= .venv-gpu/bin/python

# Set-up installs what the locks name and refuses a file whose SHA-256 they do not list, build tools included. A machine
# with a wheel folder of its own (PIP_FIND_LINKS) brings its own build of torch; elsewhere torch is checked like the rest.
# Bytecode is compiled once: where PYTHONDONTWRITEBYTECODE is set, each process would read torch's sources anew (20 s).
INSTALL = UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode \
	--verify-hashes --build-constraints requirements-build.lock
CHECKED = -c requirements.lock $(if $(PIP_FIND_LINKS),,-c requirements-torch.lock)
UNRESOLVED = --require-hashes --no-deps -c requirements-nodeps.lock
LOCK = $(BIN)/uv pip compile --quiet --universal --upgrade --generate-hashes --custom-compile-command "make lock"

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup setup-bench setup-verl setup-docs docs train-verl train-verl-smoke repro flow nightly ui play ablations-smoke supervision test test-nightly bench lint lock clean

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## create .venv and install everything into it

setup-bench: $(BENCH)  ## the benchmarks' packages as well: τ², ToolTalk, NESTFUL, T-Eval's sentence model

setup-verl: $(VERL)  ## verl as well: the cluster engine's plans, tests and smoke run (docs/verl.md)

setup-docs: $(DOCS)  ## what builds the documentation as well

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

docs: setup-docs  ## the documentation as a site: reports/site/index.html; no network is needed to read it
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

test: setup-bench setup-verl setup-docs  ## all tests
	$(BIN)/python -m pytest -n 2

test-nightly: setup-bench setup-verl setup-docs  ## what takes minutes each: the cluster engine whole, long kills and loads
	$(BIN)/python -m pytest -m nightly

bench: setup  ## measure the published speed: reports/bench.json and reports/bench.html, about ten minutes
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.bench

lint: setup-bench  ## ruff, mypy, the packages' licences and their known faults
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.supply.licences
	$(BIN)/python -m tests.supply.audit

# torch has a lock of its own: which of its builds fits differs from machine to machine.
lock: setup  ## solve all locks anew from pyproject.toml and the requirements files
	printf 'setuptools>=77\nuv\n' | $(LOCK) --no-deps -o requirements-build.lock -
	$(LOCK) --all-extras --no-emit-package torch -o requirements.lock pyproject.toml
	grep -o '"torch==[^"]*"' pyproject.toml | tr -d '"' | $(LOCK) --no-deps -o requirements-torch.lock -
	$(LOCK) --no-deps -o requirements-nodeps.lock requirements-nodeps.txt requirements-bench.txt

clean:  ## remove built data and reports (not the environment, the tracked runs or DVC's cache)
	rm -rf data reports/*.html reports/metrics reports/plots reports/viewer reports/site

$(READY): pyproject.toml $(wildcard requirements*.lock) requirements-nodeps.txt
	@test -x $(BIN)/python || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
			{ echo "set-up: $(PYTHON) must be Python 3.11 or newer: make setup PYTHON=/path/to/python3" >&2; exit 1; }; \
		$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
			{ echo "set-up: $(PYTHON) lacks its venv package: install it (Debian: python3-venv)" >&2; exit 1; }; \
		$(PYTHON) -m venv .venv; }
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --require-hashes -r requirements-build.lock
	$(INSTALL) $(CHECKED) -e '.[dev]'
	$(INSTALL) $(UNRESOLVED) -r requirements-nodeps.txt
	@touch $@

$(BENCH): $(READY) requirements-bench.txt
	$(INSTALL) $(CHECKED) -e '.[bench]'
	$(INSTALL) $(UNRESOLVED) -r requirements-bench.txt
	@touch $@

$(VERL): $(READY)
	$(INSTALL) $(CHECKED) -e '.[verl]'
	@touch $@

$(DOCS): $(READY)
	$(INSTALL) $(CHECKED) -e '.[docs]'
	@touch $@
