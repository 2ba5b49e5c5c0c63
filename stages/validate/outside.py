"""Questions of others that the tools beside them can't answer, as abstention conversations of our own shape.

No environment stands behind them: their tools belong to none of our servers (rows with a name of ours are left out)
and are refused when called, the replay is a user turn alone, and the ground truth is empty, so that a policy earns its
reward by calling nothing.

- `when2call` (nvidia/When2Call): `question`, `tools` (JSON texts), `correct_answer`, `answers` by kind. Those whose
  correct answer is `cannot_answer` are taken, and that answer is imitated.
- `xlam_irrelevance` (rows in the format of xLAM's function-calling data): `query`, `tools` and `answers` (JSON texts or
  lists). Those without answers are taken; the reply is one fixed sentence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from servers.kernel.catalog import Catalog
from servers.kernel.session import Session
from stages.artifacts import ArtifactError
from stages.conversations import Conversation, Transition, Turn
from stages.params import AbstentionSetParams
from stages.records import Json, Message, ToolSpec

REFUSAL = "I'm sorry, none of the tools that I have can do that."

_TYPES = {
    "dict": "object", "str": "string", "text": "string", "int": "integer", "float": "number", "bool": "boolean",
    "list": "array", "tuple": "array", "set": "array", "any": "string",
}  # fmt: skip


def outside_conversations(catalog: Catalog, wanted: AbstentionSetParams, seed: int) -> list[Conversation]:
    """The abstention conversations of one set, in its order.

    Raises:
        ArtifactError: the set can't be read, or a row lacks a field of its format.
    """
    read = _READERS[wanted.format]
    session = Session(catalog.world(seed))
    session.user_turn()
    made = []
    for number, row in enumerate(_rows(wanted.path)):
        try:
            found = read(row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            message = f"{wanted.path}, row {number}: not of format {wanted.format} ({error!r})"
            raise ArtifactError(f"validate.abstention_sets: {message}") from error
        if found is not None and not any(tool.name in catalog.entries for tool in found[1]):
            made.append(_conversation(wanted.format, number, seed, session, *found))
    if not made:
        raise ArtifactError(f"validate.abstention_sets: {wanted.path} has no question that can't be answered")
    return made


def _rows(path: str) -> Iterator[Mapping[str, Any]]:
    place = Path(path)
    if place.is_dir():
        files = sorted(item for item in place.rglob("*") if item.suffix in {".parquet", ".jsonl", ".json"})
    elif place.is_file():
        files = [place]
    else:
        yield from _hub_rows(path)
        return
    for file in files:
        if file.suffix == ".parquet":
            yield from pq.read_table(file).to_pylist()
            continue
        text = file.read_text(encoding="utf-8")
        try:
            yield from (
                json.loads(text) if text.lstrip().startswith("[") else map(json.loads, filter(None, _lines(text)))
            )
        except ValueError as error:
            raise ArtifactError(f"validate.abstention_sets: {file} is no JSON ({error})") from error


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.split("\n"))


def _hub_rows(name: str) -> Iterator[Mapping[str, Any]]:
    try:
        load_dataset = import_module("datasets").load_dataset
    except ImportError:
        raise ArtifactError(
            f"validate.abstention_sets: {name} is no file or directory here; "
            "to fetch it from the Hugging Face hub, install the package datasets"
        ) from None
    for split in load_dataset(name).values():
        yield from split


def _when2call(row: Mapping[str, Any]) -> tuple[str, list[ToolSpec], str] | None:
    if row["correct_answer"] != "cannot_answer":
        return None
    return str(row["question"]), _tools(row["tools"]), str(row["answers"]["cannot_answer"])


def _xlam(row: Mapping[str, Any]) -> tuple[str, list[ToolSpec], str] | None:
    answers = json.loads(row["answers"]) if isinstance(row["answers"], str) else row["answers"]
    return None if answers else (str(row["query"]), _tools(row["tools"]), REFUSAL)


_READERS: Mapping[str, Callable[[Mapping[str, Any]], tuple[str, list[ToolSpec], str] | None]] = {
    "when2call": _when2call,
    "xlam_irrelevance": _xlam,
}


def _tools(given: Any) -> list[ToolSpec]:
    listed = json.loads(given) if isinstance(given, str) else given
    plain = [json.loads(item) if isinstance(item, str) else item for item in listed]
    tools = {item["name"]: ToolSpec(item["name"], item.get("description", ""), _schema(item)) for item in plain}
    return list(tools.values())


def _schema(tool: Mapping[str, Any]) -> dict[str, Json]:
    """JSON Schema of the arguments: written as one, or as a flat mapping of names to types."""
    given = tool.get("parameters") or {}
    if "properties" in given or given.get("type") in {"object", "dict"}:
        schema: dict[str, Json] = _renamed(given)
        return schema
    optional = {name for name, item in given.items() if "optional" in str(item.get("type", "")) or "default" in item}
    return {
        "type": "object",
        "properties": {name: _flat(item) for name, item in given.items()},
        "required": [name for name in given if name not in optional],
    }


def _flat(item: Mapping[str, Any]) -> dict[str, Json]:
    kind = str(item.get("type", "string")).split(",")[0].split("[")[0].strip().casefold()
    return {**item, "type": _TYPES.get(kind, kind)}


def _renamed(schema: Any) -> Any:
    """The schema with Python's names of types as JSON Schema's."""
    if isinstance(schema, list):
        return [_renamed(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    kind = schema.get("type")
    inner = {key: _renamed(value) for key, value in schema.items()}
    return {**inner, "type": _TYPES.get(kind, kind)} if isinstance(kind, str) else inner


def _conversation(
    source: str, number: int, seed: int, session: Session, question: str, tools: list[ToolSpec], reply: str
) -> Conversation:
    return Conversation(
        id=f"{source}-{number:06d}",
        kind="abstention",
        server=source,
        chain=(),
        world=seed,
        persona="",
        information="complete",
        perturbations=("outside",),
        tools=tuple(tools),
        messages=(Message("user", question), Message("assistant", reply)),
        turns=(Turn(0, (), (), session.state_hash),),
        context={},
        transitions=(Transition("CONTINUATION", "done", "END"),),
        teacher=source,
        cost=0.0,
        reference_date=f"{session.now:%A, %Y-%m-%d}",
    )
