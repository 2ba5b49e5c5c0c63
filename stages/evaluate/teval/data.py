"""T-Eval's tasks, read from a data directory as it is published: one JSON object of records a file.

Eight files hold the six abilities: the one of `reason_retrieve_understand_json` serves three, so each of
its records is a task of each ability that its reference answer has. Files of version 1 and 2, English and
Chinese, are the same in form; a directory holds one set of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.evaluate.teval.plan import steps_of
from stages.evaluate.teval.reading import read_object
from stages.records import Json, Message, Role

Ability: TypeAlias = Literal["instruct", "plan", "reason", "retrieve", "understand", "review"]
Format: TypeAlias = Literal["json", "string"]
ABILITIES: tuple[Ability, ...] = get_args(Ability)

_SOURCE = "github.com/open-compass/T-Eval"
_FILES: Mapping[str, tuple[Ability, ...]] = {
    "instruct": ("instruct",),
    "plan_json": ("plan",),
    "plan_str": ("plan",),
    "reason_str": ("reason",),
    "retrieve_str": ("retrieve",),
    "understand_str": ("understand",),
    "reason_retrieve_understand_json": ("reason", "retrieve", "understand"),
    "review_str": ("review",),
}
_NEEDED: Mapping[Ability, tuple[str, ...]] = {
    "instruct": ("action", "args"),
    "reason": ("thought",),
    "retrieve": ("name",),
    "understand": ("args",),
    "review": ("answer",),
}
_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class TevalTask:
    """One prompt of one ability in one format, with its reference answer.

    `template` names the parts of an instruct answer; `apis` are the names that a plan may use.
    """

    id: str
    ability: Ability
    format: Format
    prompt: tuple[Message, ...] = field(repr=False)
    gold: Json
    template: Mapping[str, str]
    apis: tuple[str, ...]

    @property
    def category(self) -> str:
        """Ability and format: the two formats of an ability are averaged, not pooled."""
        return f"{self.ability}_{self.format}"


class _Turn(BaseModel):
    role: str
    content: str


class _Meta(BaseModel):
    model_config = ConfigDict(extra="ignore")
    response_format: str | None = None
    prompt_type: str | None = None
    API_list: tuple[str, ...] = ()


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore")
    origin_prompt: tuple[_Turn, ...] | str
    ground_truth: Any
    template: dict[str, str] | str = ""
    meta_data: _Meta = _Meta()
    meta: _Meta = _Meta()


_RECORDS = TypeAdapter(dict[str, _Record])


class TevalData:
    """The tasks of a data directory.

    Raises:
        BenchmarkUnavailableError: no directory is given, or one of its files is missing or there twice.
        ValueError: a file is not as T-Eval publishes it; the message names the file and the record.
    """

    def __init__(self, directory: Path | None) -> None:
        if directory is None:
            raise BenchmarkUnavailableError(
                f"T-Eval needs its test data, which is in no package: download it as {_SOURCE} describes "
                "and give its directory as evaluate.benchmarks: {teval: {data: DIRECTORY}}"
            )
        paths = {stem: _path(directory, stem) for stem in _FILES}
        digest = hashlib.sha256()
        tasks: list[TevalTask] = []
        for stem, path in paths.items():
            content = path.read_bytes()
            digest.update(content)
            tasks.extend(_tasks(stem, path, content))
        order = {ability: index for index, ability in enumerate(ABILITIES)}
        self.tasks = tuple(sorted(tasks, key=lambda task: (order[task.ability], task.format)))
        self.version = f"{_edition(directory, paths) or 'unnumbered'}, sha256 {digest.hexdigest()[:12]}"


def _path(directory: Path, stem: str) -> Path:
    found = sorted(path for pattern in ("_v*.json", ".json") for path in directory.glob(f"{stem}{pattern}"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise BenchmarkUnavailableError(
            f"{directory} has no {stem}_v2.json (or of another version): put T-Eval's test data there, "
            f"as {_SOURCE} describes"
        )
    raise BenchmarkUnavailableError(
        f"{directory} has {', '.join(path.name for path in found)}: keep one version and language in a directory"
    )


def _edition(directory: Path, paths: Mapping[str, Path]) -> str:
    """Version and language, as all file names must have them."""
    endings = {path.stem.removeprefix(stem).removeprefix("_") for stem, path in paths.items()}
    if len(endings) > 1:
        raise BenchmarkUnavailableError(
            f"{directory} mixes {', '.join(sorted(endings))}: keep one version and language in a directory"
        )
    return endings.pop()


def _tasks(stem: str, path: Path, content: bytes) -> Iterator[TevalTask]:
    try:
        records = _RECORDS.validate_json(content)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise ValueError(f"{path}: {place}: {first['msg']}: this is not a T-Eval file") from None
    for key, record in records.items():
        for ability in _FILES[stem]:
            task = _task(ability, stem, key, record)
            lack = _lack(task)
            if not lack:
                yield task
            elif len(_FILES[stem]) == 1:
                raise ValueError(f"{path}: {key}: {lack}: this is not a T-Eval file")


def _task(ability: Ability, stem: str, key: str, record: _Record) -> TevalTask:
    written = record.meta_data.response_format or record.meta.prompt_type or stem.rpartition("_")[2]
    kind: Format = "json" if written == "json" else "string"
    gold = record.ground_truth
    if isinstance(gold, str):
        gold = read_object(gold, list) if ability == "plan" else read_object(gold, dict)
    return TevalTask(
        id=f"{ability}_{kind}/{key}",
        ability=ability,
        format=kind,
        prompt=_prompt(record.origin_prompt),
        gold=gold,
        template=record.template if isinstance(record.template, dict) else {},
        apis=record.meta.API_list or record.meta_data.API_list,
    )


def _prompt(turns: Sequence[_Turn] | str) -> tuple[Message, ...]:
    """The prompt's messages; a tool's or an environment's words come as the user's."""
    if isinstance(turns, str):
        return (Message("user", turns),)
    return tuple(Message(_ROLES.get(turn.role, "user"), turn.content) for turn in turns)


def _lack(task: TevalTask) -> str:
    """What a task lacks to be scored; empty if nothing."""
    if task.ability == "plan":
        return "ground_truth is no list of steps" if steps_of(task.gold) is None else ""
    parts = [name for name in _NEEDED[task.ability] if not isinstance(task.gold, dict) or name not in task.gold]
    if parts:
        return f"ground_truth has no {' and no '.join(parts)}"
    if task.ability == "instruct" and not task.template:
        return "template is missing"
    return ""
