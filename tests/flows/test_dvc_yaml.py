"""`dvc.yaml` against the code: a stage depends on just what it imports, reads and is set by."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
STAGES: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
FRAME = {"stages/__init__.py", "stages/stage.py", "stages/progress.py"}
TRACKING = ROOT / "stages" / "tracking"


def source_of(module: str) -> Path | None:
    place = ROOT / Path(*module.split("."))
    return next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()), None)


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(stage: str) -> set[str]:
    """All files under `stages/` that the stage's code reaches, with the packages around them."""
    todo, seen = list((ROOT / "stages" / stage).rglob("*.py")), set()
    while todo:
        path = todo.pop()
        if path in seen or TRACKING in path.parents:
            continue
        seen.add(path)
        for module in imported(path):
            parts = module.split(".")
            if parts[0] == "stages":
                chain = (source_of(".".join(parts[: n + 1])) for n in range(len(parts)))
                todo.extend(p for p in chain if p)
    return {path.relative_to(ROOT).as_posix() for path in seen} - FRAME


def outputs(stage: str) -> set[str]:
    entries = [entry for kind in ("outs", "metrics", "plots") for entry in STAGES[stage].get(kind, [])]
    return {entry if isinstance(entry, str) else next(iter(entry)) for entry in entries}


def covered(path: str, dep: str) -> bool:
    return path == dep or path.startswith(f"{dep}/")


@pytest.mark.parametrize("stage", STAGES)
def test_every_source_that_shapes_the_outputs_is_a_dependency(stage: str) -> None:
    deps = STAGES[stage]["deps"]
    missing = {path for path in sources(stage) if not any(covered(path, dep) for dep in deps)}
    assert not missing


@pytest.mark.parametrize("stage", STAGES)
def test_no_dependency_on_code_that_is_not_used(stage: str) -> None:
    used = sources(stage)
    code = [dep for dep in STAGES[stage]["deps"] if dep.startswith("stages/")]
    assert [dep for dep in code if not any(covered(path, dep) for path in used)] == []


def test_inputs_are_outputs_of_earlier_stages() -> None:
    made: set[str] = set()
    for stage, entry in STAGES.items():
        inputs = {dep for dep in entry["deps"] if dep.startswith(("data/", "reports/"))}
        assert inputs <= made, stage
        made |= outputs(stage)


@pytest.mark.parametrize("stage", STAGES)
def test_params_are_blocks_of_the_file_and_the_stage_has_its_own(stage: str) -> None:
    listed = STAGES[stage]["params"]
    document = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert stage in listed
    assert set(listed) <= set(document), "DVC refuses to run a stage whose params are not in params.yaml"


def test_a_change_of_training_params_leaves_the_stages_before_it() -> None:
    names = list(STAGES)
    for stage in names[: names.index("train")]:
        assert not {"train", "reward", "evaluate", "report"} & set(STAGES[stage]["params"])


@pytest.mark.parametrize("stage", STAGES)
def test_the_command_uses_the_environment(stage: str) -> None:
    assert STAGES[stage]["cmd"] == f".venv/bin/python -m stages.{stage}"


@pytest.mark.parametrize("stage", STAGES)
def test_what_git_ignores_is_in_dvcs_cache(stage: str) -> None:
    """Else a clone that pulls lacks it, and its first `dvc repro` runs the stage again."""
    for kind in ("outs", "metrics", "plots"):
        for entry in STAGES[stage].get(kind, []):
            assert isinstance(entry, str) or next(iter(entry.values())).get("cache", True), entry
