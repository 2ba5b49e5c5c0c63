"""Profiles: `profiles/NAME.yaml` lies over `params.yaml`, and its run has a workspace of its own.

    python -m stages.profile paper-data

A profile names only what differs. Mappings are merged key by key, anything else is replaced; the result is checked
like `params.yaml`. Its top-level key `until` is the last stage that the profile is about.

The workspace `runs/NAME/` is a small DVC repository: the effective parameters as its `params.yaml`, the pipeline's
`dvc.yaml`, links to the code, and its own `data/` and `reports/`. So DVC compares parameters block by block as ever,
the default run's artefacts stay where they are, and both share one cache: a stage that another run has made from the
same code, parameters and inputs is fetched from there. Exit codes: those of DVC, and 2 for a bad profile.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from stages.artifacts import write_text
from stages.params import (
    BLOCKS,
    BootstrapParams,
    DiscoverParams,
    EvaluateParams,
    ParamsError,
    ReportParams,
    SkillsParams,
    SynthesizeParams,
    TeacherParams,
    ValidateParams,
    check_block,
    load_params,
    load_yaml,
)
from stages.progress import error_console
from stages.reward.rules import RewardRules
from stages.train.params import ProfileParams, TrainParams

PROFILES, RUNS = Path("profiles"), Path("runs")
KINDS: Mapping[str, type[BaseModel]] = {
    "bootstrap": BootstrapParams,
    "discover": DiscoverParams,
    "teacher": TeacherParams,
    "synthesize": SynthesizeParams,
    "validate": ValidateParams,
    "skills": SkillsParams,
    "train": TrainParams,
    "profile": ProfileParams,
    "reward": RewardRules,
    "evaluate": EvaluateParams,
    "report": ReportParams,
}
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_DVC = """[core]
    no_scm = true
    analytics = false
    check_update = false
[cache]
    dir = ../../../.dvc/cache
"""
_HEAD = "# The effective parameters of the profile {name}: profiles/{name}.yaml over params.yaml. Change those.\n"


@dataclass(frozen=True, slots=True)
class Profile:
    """The effective parameters, and the last stage to run ("" runs all)."""

    name: str
    document: Mapping[str, Any]
    until: str


def load_profile(name: str, root: Path = Path()) -> Profile:
    """A profile over the `params.yaml` beside it.

    Raises:
        ParamsError: there is no such profile, or a key or value of the result is bad; says which file and key.
    """
    path = root / PROFILES / f"{name}.yaml"
    if not _NAME.fullmatch(name) or not path.exists():
        known = sorted(found.stem for found in (root / PROFILES).glob("*.yaml"))
        near = get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known) or 'none'}"
        raise ParamsError(f"unknown profile {name[:80]!r}; {advice}")
    overlay = load_yaml(path)
    until = overlay.pop("until", "")
    stages = list(load_yaml(root / "dvc.yaml")["stages"])
    if until and until not in stages:
        raise ParamsError(f"{path}: until: unknown stage {str(until)[:80]!r}; there are {', '.join(stages)}")
    unknown = [key for key in overlay if key not in (*BLOCKS, "seed")]
    if unknown:
        near = get_close_matches(str(unknown[0]), ["seed", "until", *BLOCKS], n=1)
        raise ParamsError(
            f"{path}: unknown block {str(unknown[0])[:80]!r}" + (f"; did you mean {near[0]!r}?" if near else "")
        )
    document = merged(load_params(root / "params.yaml"), overlay)
    for block, value in document.items():
        if block in KINDS:
            check_block(KINDS[block], value, f"{path}: {block}")
    return Profile(name, document, until)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `base`: mappings key by key, anything else as a whole."""
    both = {
        key: merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in over.items()
    }
    return {**base, **both}


def prepare(profile: Profile, root: Path = Path()) -> Path:
    """Make or refresh a profile's workspace; what is in it already, its data and its lock, stays.

    Raises:
        ParamsError: the effective parameters are not accepted as a `params.yaml`.
    """
    work = root / RUNS / profile.name
    (work / ".dvc").mkdir(parents=True, exist_ok=True)
    (root / ".cache").mkdir(exist_ok=True)
    text = _HEAD.format(name=profile.name) + yaml.safe_dump(dict(profile.document), sort_keys=False)
    write_text(root / RUNS / ".gitignore", "*\n")
    write_text(work / ".dvc" / "config", _DVC)
    write_text(work / "params.yaml", text)
    load_params(work / "params.yaml")
    for name in ("dvc.yaml", ".dvcignore"):
        shutil.copyfile(root / name, work / name)
    for name in (*_sources(root), ".venv", ".cache"):
        link = work / name
        if not link.is_symlink():
            link.symlink_to(Path("..", "..", name))
    return work


def _sources(root: Path) -> list[str]:
    """The top-level names of the code that stages depend on."""
    deps = {dep for stage in load_yaml(root / "dvc.yaml")["stages"].values() for dep in stage["deps"]}
    return sorted({Path(dep).parts[0] for dep in deps} - {"data", "reports"})


def main() -> int:
    """Bring a profile's run up to date."""
    parser = argparse.ArgumentParser(prog="python -m stages.profile", description=main.__doc__, allow_abbrev=False)
    parser.add_argument("name", help="a file in profiles/, without .yaml")
    parser.add_argument("--until", default="", metavar="STAGE", help="the last stage to run (default: the profile's)")
    parser.add_argument("--prepare", action="store_true", help="only make the workspace and print where it is")
    arguments = parser.parse_args()
    try:
        profile = load_profile(arguments.name)
        work = prepare(profile)
        stages = list(load_yaml(work / "dvc.yaml")["stages"])
        if arguments.until and arguments.until not in stages:
            raise ParamsError(f"--until: unknown stage {arguments.until[:80]!r}; there are {', '.join(stages)}")
    except ParamsError as error:
        error_console().print(f"profile: {error}", markup=False, soft_wrap=True)
        return 2
    if arguments.prepare:
        print(work)
        return 0
    until = arguments.until or profile.until
    error_console().print(f"profile: {profile.name} in {work}/, up to {until or stages[-1]}", markup=False)
    command = [sys.executable, "-m", "dvc", "repro", *([until] if until else [])]
    return subprocess.run(command, cwd=work, env={**os.environ, "PWD": str(work.resolve())}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
