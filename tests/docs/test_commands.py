"""Every command that a page names exists: modules, their commands and options, targets, profiles, grids, stages."""

from __future__ import annotations

import re
import shlex
from functools import cache
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path

import pytest
import yaml

from tests.docs.reading import ROOT, Page, commands, pages

OWN = ("servers", "stages", "flows", "tests")
COMMANDED = ("flows.nightly", "servers", *(f"stages.{path.parent.name}" for path in ROOT.glob("stages/*/__main__.py")))
PLACEHOLDER = re.compile(r"[A-Z<>…]|\.\.\.")


@pytest.mark.parametrize("page", [page for page in pages() if list(commands(page))], ids=lambda page: page.name)
def test_commands_exist(page: Page) -> None:
    faults = [fault for command in commands(page) for fault in faults_of(command)]
    assert faults == [], page.name


@pytest.mark.parametrize(
    "command",
    [
        "python -m stages.trian",
        "python -m stages.train explain",
        "python -m stages.discover --param my.yaml",
        "python -m servers cal list_accounts",
        "python -m flows.ablations --grid reward",
        "python -m dvc repro validat",
        "make nigthly",
        "make repro PROFIL=smoke",
        "make repro PROFILE=smok",
        "python tests/bench/local_teachers.py",
    ],
)
def test_a_command_that_does_not_exist_is_found(command: str) -> None:
    assert faults_of(command)


def faults_of(command: str) -> list[str]:
    """What in a command does not exist; nothing for programs that are not ours."""
    words = [
        word for word in shlex.split(command) if not re.fullmatch(r"[A-Z_]+=.*", word) or command.startswith("make")
    ]
    if not words:
        return []
    if words[0] == "make":
        return _make(words[1:])
    if not words[0].endswith("python"):
        return []
    if words[1:2] == ["-m"]:
        return _module(words[2], words[3:]) if len(words) > 2 else ["no module"]
    scripts = [word for word in words[1:] if word.endswith(".py")]
    return [f"no file {script}" for script in scripts if not (ROOT / script).exists()]


def _make(words: list[str]) -> list[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    faults = []
    for word in words:
        name, sign, value = word.partition("=")
        if sign and f"$({name})" not in makefile and not re.search(rf"\b{name} \?=|,{name}|\({name}\)", makefile):
            faults.append(f"make knows no {name}")
        elif not sign and not re.search(rf"^{re.escape(word)}:", makefile, re.M):
            faults.append(f"no target {word}")
        faults += _named({"PROFILE": "--profile", "UNTIL": "--until"}.get(name, ""), value)
    return faults


def _module(module: str, words: list[str]) -> list[str]:
    if PLACEHOLDER.search(module):
        return []
    try:
        known = find_spec(module) is not None
    except ModuleNotFoundError:
        known = False
    if not known:
        return [f"no module {module}"]
    if module == "dvc":
        return _dvc(words)
    if module.split(".")[0] not in OWN:
        return []
    source, faults = _source(module), []
    asked = words[0] if module in COMMANDED and words and re.match(r"\w", words[0]) else ""
    if asked and not re.search(rf"[\"']{asked}[\"']|^def {asked}\(", source, re.M) and not PLACEHOLDER.search(asked):
        faults.append(f"{module} has no command {asked}")
    if module == "stages.profile" and words:
        faults += _named("--profile", words[0])
    for word, value in zip_longest(words, words[1:], fillvalue=""):
        if word.startswith("--"):
            option = word.partition("=")[0]
            name = option.removeprefix("--").replace("-", "_")
            if not re.search(rf"[\"']{option}[\"']|\b{name}: (Annotated|[A-Z])", source):
                faults.append(f"{module} has no option {option}")
            faults += _named(option, word.partition("=")[2] or value)
    return faults


@cache
def _source(module: str) -> str:
    path = ROOT / Path(*module.split("."))
    files = [*path.glob("*.py"), *path.glob("*/*.py")] if path.is_dir() else [path.with_suffix(".py")]
    frame = [ROOT / "stages" / "stage.py"] if module.startswith("stages.") else []
    return "\n".join(file.read_text(encoding="utf-8") for file in (*files, *frame))


def _dvc(words: list[str]) -> list[str]:
    if words[:1] != ["repro"]:
        return []
    return [fault for word in words[1:] if not word.startswith("-") for fault in _named("--until", word)]


def _named(option: str, value: str) -> list[str]:
    """Whether the profile, grid or stage of that name exists."""
    if not value or PLACEHOLDER.search(value) or value.endswith(".yaml"):
        return []
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    exists = {
        "--profile": (ROOT / "profiles" / f"{value}.yaml").exists(),
        "--grid": (ROOT / "flows" / "grids" / f"{value}.yaml").exists(),
        "--until": value in stages,
    }
    return [] if exists.get(option, True) else [f"{option} {value}: there is none"]
