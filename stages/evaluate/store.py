"""Benchmark rows on disk: every message, call and sampled token behind a score, so that it can be made again.

`data/scores/<benchmark>.parquet` holds one row for each agent and task, doing nothing included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa

from stages.artifacts import dump
from stages.conversations import message_from
from stages.evaluate.benchmark import Benchmark, Score, TaskResult
from stages.evaluate.loop import rescore
from stages.records import EpisodeRecord, ExecutedCall

FLOOR = "do_nothing"
"""The agent whose score stands beside every other's."""

TASK_ROWS = pa.schema(
    [
        ("agent", pa.string()),
        ("version", pa.string()),
        ("task", pa.string()),
        ("category", pa.string()),
        ("status", pa.string()),
        ("passed", pa.bool_()),
        ("value", pa.float64()),
        ("reason", pa.string()),
        ("counts", pa.string()),
        ("finished", pa.bool_()),
        ("messages", pa.string()),
        ("calls", pa.string()),
        ("state_hash", pa.string()),
        ("stop", pa.string()),
        ("extra", pa.string()),
        ("tokens", pa.string()),
        ("usage", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One agent on one task; `version` is the benchmark's data.

    `tokens` has the ids of each reply of a local policy (an empty one: its prompt was too long), `usage` what
    the replies of a hosted one took.
    """

    agent: str
    version: str
    result: TaskResult
    tokens: tuple[tuple[int, ...], ...] = ()
    usage: Mapping[str, float] = field(default_factory=dict)

    @property
    def prompts_too_long(self) -> int:
        """Replies that were left empty because the prompt was too long."""
        return sum(not reply for reply in self.tokens)


def row_to_plain(row: AgentRow) -> dict[str, Any]:
    """The row as it stands in its table."""
    result, episode = row.result, row.result.episode
    return {
        "agent": row.agent,
        "version": row.version,
        "task": result.task_id,
        "category": result.category,
        "status": result.status,
        "passed": result.score.passed,
        "value": result.score.value,
        "reason": result.score.reason,
        "counts": dump(dict(result.score.counts)),
        "finished": episode is not None,
        "messages": dump([asdict(message) for message in (episode.messages if episode else result.partial)]),
        "calls": dump([asdict(call) for call in (episode.calls if episode else ())]),
        "state_hash": episode.state_hash if episode else "",
        "stop": episode.stop if episode else "",
        "extra": dump(dict(episode.extra) if episode else {}),
        "tokens": dump(row.tokens),
        "usage": dump(dict(row.usage)),
    }


def row_from_plain(plain: Mapping[str, Any]) -> AgentRow:
    """The row of a table row."""
    messages = tuple(message_from(item) for item in json.loads(plain["messages"]))
    episode = None
    if plain["finished"]:
        calls = tuple(ExecutedCall(**item) for item in json.loads(plain["calls"]))
        episode = EpisodeRecord(messages, calls, plain["state_hash"], plain["stop"], json.loads(plain["extra"]))
    score = Score(plain["passed"], plain["reason"], json.loads(plain["counts"]), plain["value"])
    partial = () if plain["finished"] else messages
    return AgentRow(
        agent=plain["agent"],
        version=plain["version"],
        result=TaskResult(plain["task"], plain["category"], plain["status"], score, episode, partial),
        tokens=tuple(tuple(ids) for ids in json.loads(plain["tokens"])),
        usage=json.loads(plain["usage"]),
    )


def rescored_rows(benchmark: Benchmark[Any], rows: Sequence[AgentRow]) -> list[AgentRow]:
    """The rows with their verdicts made again.

    Raises:
        ValueError: a row is of a task that the benchmark doesn't have.
    """
    again = rescore(benchmark, [row.result for row in rows])
    return [replace(row, result=result) for row, result in zip(rows, again, strict=True)]


def failures(benchmark: str, rows: Sequence[AgentRow]) -> list[dict[str, str]]:
    """The tasks that broke down or are masked, each with its reason."""
    return [
        {
            "benchmark": benchmark,
            "agent": row.agent,
            "task": row.result.task_id,
            "status": row.result.status,
            "reason": row.result.score.reason,
        }
        for row in rows
        if row.result.status != "scored"
    ]
