"""ACEBench's records, read from a directory of the user's.

A language has seventeen files of JSON lines, each with a file of answers under `possible_answer`. What
the benchmark asks is one *item*: a conversation so far, the documented APIs, and what must come next.
The turns of one multi-turn conversation are separate items, each with the published history, and pass
together or not at all, so a task is one conversation with its items.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from stages.evaluate.acebench.calls import Call
from stages.evaluate.acebench.special import Faults, Special
from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.records import Json

Language: TypeAlias = Literal["en", "zh"]

NORMAL = (
    "normal_single_turn_single_function",
    "normal_single_turn_parallel_function",
    "normal_multi_turn_user_switch",
    "normal_multi_turn_user_adjust",
    "normal_similar_api",
    "normal_preference",
    "normal_atom_bool",
    "normal_atom_enum",
    "normal_atom_number",
    "normal_atom_list",
    "normal_atom_object_deep",
    "normal_atom_object_short",
)
SPECIAL: tuple[Special, ...] = get_args(Special)
AGENT = ("agent_multi_step", "agent_multi_turn")

REVISIONS = {"fdd7bbefd006": "e6db74b", "340b2610981e": "e6db74b"}
"""Upstream revisions by the digest of a language's files."""

_CURE = "clone https://github.com/ACEBench/ACEBench and name its folder data_all as the data directory"
_SUFFIX = re.compile(r"_\d+$")


class _Line(BaseModel):
    """A record of a question file; other keys are of no use here."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    question: str
    function: list[dict[str, Any]]
    time: str = ""
    profile: str = ""
    initial_config: dict[str, Any] = {}
    involved_classes: list[str] = []


class _Answer(BaseModel):
    """A record of an answer file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    ground_truth: Any
    mile_stone: list[Any] = []


@dataclass(frozen=True, slots=True)
class Item:
    """One question: the conversation so far, the documented APIs, and what must come next.

    `answers` has alternative references, each with its calls under their names; a name may carry a
    number (`_1`, `_2`) where one API is called repeatedly. `faults` is what a special item must name.
    """

    id: str
    question: str
    time: str
    profile: str
    apis: tuple[Mapping[str, Any], ...] = field(repr=False)
    answers: tuple[Mapping[str, Mapping[str, Json]], ...] = ()
    faults: Faults = field(default_factory=dict)

    @property
    def schemas(self) -> dict[str, Mapping[str, Any]]:
        """The parameters of each API as documented; of two with one name, the first."""
        return {str(api["name"]): parameters_of(api) for api in reversed(self.apis)}

    def gold(self) -> list[list[Call]]:
        """The alternative references; a number at the end of a name goes unless an API is so called."""
        known = self.schemas
        return [
            [Call(n if n in known else _SUFFIX.sub("", n), arguments) for n, arguments in answer.items()]
            for answer in self.answers
        ]

    def published_gold(self) -> list[list[Call]]:
        """The alternative references as the published scorer reads them: the number always goes."""
        return [[Call(_SUFFIX.sub("", n), arguments) for n, arguments in answer.items()] for answer in self.answers]


@dataclass(frozen=True, slots=True)
class Task:
    """A conversation with its items; it passes if all of them do."""

    id: str
    category: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class AgentTask:
    """An instruction to carry out in a simulated world of named classes.

    `end` has the attributes that the worlds must end with, by class; `milestones` has alternative
    sequences of calls, in ACEBench's notation, that lead there.
    """

    id: str
    category: str
    instruction: str
    apis: tuple[Mapping[str, Any], ...] = field(repr=False)
    classes: tuple[str, ...]
    initial: Mapping[str, Any] = field(repr=False)
    end: Mapping[str, Mapping[str, Json]] = field(repr=False)
    milestones: tuple[tuple[str, ...], ...] = field(repr=False)


def parameters_of(api: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a documented API, under whichever key a record keeps them."""
    for key in ("parameters", "arguments", "_arguments"):
        if isinstance(found := api.get(key), dict):
            return found
    return {}


class AceData:
    """One language's files.

    Args:
        directory: the folder that holds `data_en` and `data_zh`.
        language: `en` or `zh`.

    Raises:
        BenchmarkUnavailableError: no folder is named, or one of its files is not there.
    """

    def __init__(self, directory: Path | None, language: Language) -> None:
        if directory is None:
            raise BenchmarkUnavailableError(f"ACEBench needs a data directory: {_CURE}")
        self.folder = directory / f"data_{language}"
        self.language = language
        missing = [
            path for category in (*NORMAL, *SPECIAL, *AGENT) for path in self._paths(category) if not path.is_file()
        ]
        if missing:
            raise BenchmarkUnavailableError(f"ACEBench's file {missing[0]} is not there: {_CURE}")

    @property
    def revision(self) -> str:
        """The upstream revision of the files, or their digest where that is unknown."""
        digest = hashlib.sha256()
        for path in sorted(path for category in (*NORMAL, *SPECIAL, *AGENT) for path in self._paths(category)):
            digest.update(path.read_bytes())
        short = digest.hexdigest()[:12]
        return REVISIONS.get(short, f"unknown data {short}")

    def tasks(self) -> tuple[Task, ...]:
        """All normal and special tasks, category by category."""
        return tuple(task for category in (*NORMAL, *SPECIAL) for task in self._tasks(category))

    def agent_tasks(self) -> tuple[AgentTask, ...]:
        """All agent tasks, category by category."""
        return tuple(_agent(category, *pair) for category in AGENT for pair in self._pairs(category))

    def _tasks(self, category: str) -> list[Task]:
        items = [_item(category, *pair) for pair in self._pairs(category)]
        if "multi_turn" not in category:
            return [Task(item.id, category, (item,)) for item in items]
        talks = groupby(items, key=lambda item: item.id.rpartition("_")[0])
        return [Task(name, category, tuple(turns)) for name, turns in talks]

    def _pairs(self, category: str) -> list[tuple[_Line, _Answer]]:
        questions, answers = self._paths(category)
        lines, found = _records(questions, _Line), _records(answers, _Answer)
        if len(lines) != len(found):
            raise ValueError(f"{questions}: {len(lines)} records, but {len(found)} answers")
        pairs = list(zip(lines, found, strict=True))
        for line, answer in pairs:
            if line.id != answer.id:
                raise ValueError(f"{questions.name}: record {line.id} stands where the answers have {answer.id}")
        return pairs

    def _paths(self, category: str) -> tuple[Path, Path]:
        name = f"data_{category}.json"
        return self.folder / name, self.folder / "possible_answer" / name


_RecordT = TypeVar("_RecordT", bound=BaseModel)


def _records(path: Path, kind: type[_RecordT]) -> list[_RecordT]:
    found: list[_RecordT] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found.append(kind.model_validate_json(line))
        except ValidationError as wrong:
            problem = wrong.errors()[0]
            where = ".".join(map(str, problem["loc"])) or "the line"
            raise ValueError(f"{path}, line {number}: {where}: {problem['msg']}") from wrong
    return found


def _item(category: str, line: _Line, answer: _Answer) -> Item:
    item = Item(line.id, line.question, line.time, line.profile, tuple(line.function))
    truth = answer.ground_truth
    if category not in SPECIAL:
        answers = truth if isinstance(truth, list) else [truth]
        if not all(isinstance(calls, dict) and all(isinstance(a, dict) for a in calls.values()) for calls in answers):
            raise ValueError(f"{line.id}: the answer is not an object of calls with their arguments")
        return replace(item, answers=tuple(answers))
    if category == "special_irrelevant":
        return item
    if not isinstance(truth, dict) or not all(_texts(values) for values in truth.values()):
        raise ValueError(f"{line.id}: the answer is not an object of lists of text")
    return replace(item, faults=truth)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _agent(category: str, line: _Line, answer: _Answer) -> AgentTask:
    stones = answer.mile_stone
    paths: Sequence[Any] = stones if stones and isinstance(stones[0], list) else [stones]
    if not all(map(_texts, paths)) or not isinstance(answer.ground_truth, list):
        raise ValueError(f"{line.id}: expected a list of end states and milestones in text")
    return AgentTask(
        id=line.id,
        category=category,
        instruction=line.question,
        apis=tuple(line.function),
        classes=tuple(line.involved_classes),
        initial=line.initial_config,
        end={name: state for part in answer.ground_truth for name, state in part.items()},
        milestones=tuple(tuple(path) for path in paths),
    )
