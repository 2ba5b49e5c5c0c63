"""Scored episodes on disk: what was said, what ran, and each part of the reward.

A row keeps everything that the reward reads, so that it can be computed again without the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from stages.artifacts import dump
from stages.conversations import message_from, truth_from
from stages.dataset import RlRow
from stages.params import ParamsError
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolSpec, TruthCall
from stages.reward.combine import RewardRecord, score
from stages.reward.outcome import outcome
from stages.reward.process import ProcessJudge
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
        ("required", pa.string()),
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
    required: tuple[str, ...]
    reward: RewardRecord


def score_episode(
    policy: str, row: RlRow, sample: int, record: EpisodeRecord, rules: RewardRules, judge: ProcessJudge | None = None
) -> ScoredEpisode:
    """Score a finished episode of a row.

    Raises:
        ParamsError: the rules need a process judge, and none is given.
    """
    reward = _reward(row.tools, row.truth, record, row.state_hash, row.required, rules, judge)
    return ScoredEpisode(
        policy, row.id, sample, row.kind, row.server, row.tools, row.truth, record, row.state_hash, row.required, reward
    )


def rescored(episode: ScoredEpisode, rules: RewardRules, judge: ProcessJudge | None = None) -> ScoredEpisode:
    """The same episode under other rules.

    Raises:
        ParamsError: the rules need a process judge, and none is given.
    """
    e = episode
    return replace(e, reward=_reward(e.tools, e.truth, e.record, e.truth_hash, e.required, rules, judge))


@dataclass(frozen=True, slots=True)
class Scorer:
    """Rules with the process judge that they need, if they need one."""

    rules: RewardRules
    judge: ProcessJudge | None = None

    def score(self, policy: str, row: RlRow, sample: int, record: EpisodeRecord) -> ScoredEpisode:
        """Score a finished episode of a row."""
        return score_episode(policy, row, sample, record, self.rules, self.judge)

    def again(self, episode: ScoredEpisode) -> ScoredEpisode:
        """Score a stored episode anew."""
        return rescored(episode, self.rules, self.judge)


def _reward(
    tools: Sequence[ToolSpec],
    truth: Sequence[TruthCall],
    record: EpisodeRecord,
    truth_hash: str,
    required: Sequence[str],
    rules: RewardRules,
    judge: ProcessJudge | None,
) -> RewardRecord:
    """The dense reward with the outcome beside it; the total is the one that the rules ask for."""
    dense = score(tools, truth, record.calls, rules)
    if dense.masked:
        return dense
    observed = [call.result for call in record.calls if call.ok]
    solved = not record.calls if not truth else outcome(record.state_hash, truth_hash, observed, required)
    found: dict[str, Any] = {"outcome": solved}
    if rules.needs_judge:
        found["process"] = _process(tools, record, rules, judge)
    match rules.kind:
        case "outcome":
            found["total"] = float(solved)
        case "scribe":
            found["total"] = rules.scribe.outcome * solved + rules.scribe.process * found["process"]
        case "dense" if rules.needs_judge and truth:
            found["total"] = dense.total + rules.weights.process * found["process"]
    return dense.model_copy(update=found)


def _process(tools: Sequence[ToolSpec], record: EpisodeRecord, rules: RewardRules, judge: ProcessJudge | None) -> float:
    if judge is None:
        wanted = "reward.kind is scribe" if rules.kind == "scribe" else "reward.weights.process is above 0"
        raise ParamsError(
            f"{wanted}, which takes a process judge, and this command has none: set reward.kind to dense or outcome "
            "and reward.weights.process to 0"
        )
    return judge.process(tools, record)


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
        "required": dump(list(episode.required)),
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
        required=tuple(json.loads(row["required"])),
        reward=RewardRecord.model_validate_json(row["reward"]),
    )
