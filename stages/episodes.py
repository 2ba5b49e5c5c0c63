"""Scored episodes on disk: what was said, what ran, and each part of the reward.

A row keeps everything that the reward reads, so that it can be computed again without the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from stages.artifacts import dump
from stages.conversations import message_from, truth_from
from stages.dataset import RlRow
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolSpec, TruthCall
from stages.reward.combine import RewardRecord, score
from stages.reward.rules import RewardRules

EPISODES = pa.schema(
    [
        ("policy", pa.string()),
        ("row", pa.string()),
        ("sample", pa.int64()),
        ("kind", pa.string()),
        ("server", pa.string()),
        ("tools", pa.string()),
        ("truth", pa.string()),
        ("messages", pa.string()),
        ("calls", pa.string()),
        ("stop", pa.string()),
        ("state_hash", pa.string()),
        ("truth_hash", pa.string()),
        ("total", pa.float64()),
        ("reward", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class ScoredEpisode:
    """One episode of a policy on one row, with its reward."""

    policy: str
    row: str
    sample: int
    kind: str
    server: str
    tools: tuple[ToolSpec, ...]
    truth: tuple[TruthCall, ...]
    record: EpisodeRecord
    truth_hash: str
    reward: RewardRecord


def score_episode(policy: str, row: RlRow, sample: int, record: EpisodeRecord, rules: RewardRules) -> ScoredEpisode:
    """Score a finished episode of a row."""
    reward = score(row.tools, row.truth, record.calls, rules)
    return ScoredEpisode(
        policy, row.id, sample, row.kind, row.server, row.tools, row.truth, record, row.state_hash, reward
    )


def rescored(episode: ScoredEpisode, rules: RewardRules) -> ScoredEpisode:
    """The same episode under other rules."""
    reward = score(episode.tools, episode.truth, episode.record.calls, rules)
    return ScoredEpisode(
        episode.policy, episode.row, episode.sample, episode.kind, episode.server, episode.tools,
        episode.truth, episode.record, episode.truth_hash, reward,
    )  # fmt: skip


def episode_to_row(episode: ScoredEpisode) -> dict[str, Any]:
    """The episode as a table row."""
    return {
        "policy": episode.policy,
        "row": episode.row,
        "sample": episode.sample,
        "kind": episode.kind,
        "server": episode.server,
        "tools": dump([asdict(tool) for tool in episode.tools]),
        "truth": dump([asdict(call) for call in episode.truth]),
        "messages": dump([asdict(message) for message in episode.record.messages]),
        "calls": dump([asdict(call) for call in episode.record.calls]),
        "stop": episode.record.stop,
        "state_hash": episode.record.state_hash,
        "truth_hash": episode.truth_hash,
        "total": episode.reward.total,
        "reward": dump(episode.reward.model_dump(mode="json")),
    }


def episode_from_row(row: Mapping[str, Any]) -> ScoredEpisode:
    """The episode of a table row."""
    messages: tuple[Message, ...] = tuple(message_from(item) for item in json.loads(row["messages"]))
    calls = tuple(ExecutedCall(**item) for item in json.loads(row["calls"]))
    return ScoredEpisode(
        policy=row["policy"],
        row=row["row"],
        sample=row["sample"],
        kind=row["kind"],
        server=row["server"],
        tools=tuple(ToolSpec(**item) for item in json.loads(row["tools"])),
        truth=tuple(truth_from(item) for item in json.loads(row["truth"])),
        record=EpisodeRecord(messages, calls, row["state_hash"], row["stop"]),
        truth_hash=row["truth_hash"],
        reward=RewardRecord.model_validate_json(row["reward"]),
    )
