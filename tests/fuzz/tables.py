"""Readers of the pipeline's own tables, given files that were damaged on the way.

The tables hold a few rows of each kind; a reader's inputs are the bytes of such a file, changed at random.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from stages.artifacts import ArtifactError, Stamp, read_json, read_table, write_table
from stages.conversations import CONVERSATIONS, Conversation, Transition, Turn, from_row, to_row
from stages.dataset import RL_ROWS, SFT_ROWS, ReplayStep, RlRow, SftRow, rl_row, row_to_plain, sft_row
from stages.episodes import EPISODES, episode_from_row, episode_to_row, score_episode
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolCall, ToolSpec, TruthCall
from stages.report.inputs import Inputs
from stages.reward.rules import RewardRules
from tests.fuzz.target import Target

STAMP = Stamp("0123456789abcdef", "fedcba9876543210")
Reader = Callable[[Mapping[str, Any]], object]

TOOL = ToolSpec("list_items", "List items.", {"type": "object", "properties": {"limit": {"type": "integer"}}})
CALL = ToolCall("call_1_0", "list_items", {"limit": 3})
RAN = ExecutedCall("list_items", {"limit": 3}, 1, executed=True, ok=True, result='{"items":["é","漢"]}')
SAID = (
    Message("user", "List three items"),
    Message("assistant", "", (CALL,)),
    Message("tool", RAN.result, tool_call_id=CALL.id),
    Message("assistant", "Here they are."),
)
TRUTH = (TruthCall("list_items", {"limit": 3}),)
HASH = "0" * 32


def _conversation(number: int) -> Conversation:
    return Conversation(
        id=f"c{number}",
        kind="multi_turn",
        server="banking",
        chain=("list_items",),
        world=7,
        persona="brisk",
        information="complete",
        perturbations=("distractors",),
        tools=(TOOL,),
        messages=SAID,
        turns=(Turn(0, (RAN,), TRUTH, HASH),),
        context={"accounts": ["ACC-1"]},
        transitions=(Transition("query", "query_written", "respond"),),
        teacher="scripted/grounded",
        cost=0.0,
        reference_date="2026-03-02",
    )


def _rl_row(number: int) -> RlRow:
    replay = (ReplayStep("", {}),)
    return RlRow(f"r{number}", "c", 0, "multi_turn", "banking", 7, (TOOL,), SAID[:1], replay, TRUTH, HASH, ("{}",))


def _episode(number: int) -> dict[str, Any]:
    record = EpisodeRecord(SAID, (RAN,), HASH, "answered")
    return episode_to_row(score_episode("policy", _rl_row(number), 0, record, RewardRules()))


def _sft_row(number: int) -> SftRow:
    learn = tuple(message.role == "assistant" for message in SAID)
    return SftRow(f"s{number}", "multi_turn", "banking", (TOOL,), SAID, learn)


@cache
def _scratch() -> Path:
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.is_dir() else None))


def _bytes(schema: pa.Schema, rows: list[dict[str, Any]]) -> bytes:
    path = _scratch() / "whole.parquet"
    write_table(path, schema, rows, STAMP)
    return path.read_bytes()


def _damaged(content: bytes) -> tuple[bytes, ...]:
    """The file whole, cut off, and with one byte changed here and there."""
    places = range(4, len(content) - 8, max(1, len(content) // 24))
    changed = (content[:n] + bytes([content[n] ^ 0x55]) + content[n + 1 :] for n in places)
    return (content, content[: len(content) // 2], content[:-1], b"", b"PAR1", b"PAR1\0\0\0\0PAR1", *changed)


def table(schema: pa.Schema, reader: Reader, data: bytes) -> None:
    """A stamped table: its rows as records, or an ArtifactError; read whole and read in batches."""
    path = _scratch() / "given.parquet"
    path.write_bytes(data)
    with contextlib.suppress(ArtifactError):
        for row in read_table(path, schema, None):
            reader(row)
    with contextlib.suppress(ArtifactError):
        inputs = Inputs(data=_scratch())
        inputs.count(path.name)
        for row in inputs.stream(path.name, schema.names):
            reader(row)


def metrics(data: bytes) -> None:
    """A JSON artefact."""
    path = _scratch() / "given.json"
    path.write_bytes(data)
    with contextlib.suppress(ArtifactError):
        read_json(path)


def _target(name: str, schema: pa.Schema, reader: Reader, rows: list[dict[str, Any]]) -> Target:
    return Target(name, _damaged(_bytes(schema, rows)), partial(table, schema, reader))


CONVERSATION_TABLE = _target("conversations", CONVERSATIONS, from_row, [to_row(_conversation(n)) for n in range(3)])
RL_TABLE = _target("rl-rows", RL_ROWS, rl_row, [row_to_plain(_rl_row(n)) for n in range(3)])
SFT_TABLE = _target("sft-rows", SFT_ROWS, sft_row, [row_to_plain(_sft_row(n)) for n in range(3)])
EPISODE_TABLE = _target("episodes", EPISODES, episode_from_row, [_episode(n) for n in range(3)])
METRICS = Target(
    "metrics",
    (b'{"a": 1.5, "b": [1, null]}', b'{"a": NaN}', b"\xff", b"[" * 20_000, b"1" * 5_000, b"{", b""),
    metrics,
)
