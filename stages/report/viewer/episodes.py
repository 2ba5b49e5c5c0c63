"""Scored episodes as a source of the viewer: those of training, of validation and of held-out rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from servers.kernel.catalog import Catalog
from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, episode_from_row
from stages.records import Message
from stages.report.viewer.diffs import CannotReplayError, Replayed, replay_episode
from stages.report.viewer.events import Timeline
from stages.report.viewer.origins import ToolFacts, Tracer
from stages.report.viewer.reasons import differing, level_reason, match_reason, parts, verdict
from stages.report.viewer.shards import Entry, Facet, Measure
from stages.reward.rules import RewardRules

FACETS = (
    Facet("set", "episodes of"),
    Facet("policy", "policy"),
    Facet("server", "server"),
    Facet("outcome", "outcome"),
    Facet("kind", "kind"),
    Facet("stop", "ended by"),
    Facet("codes", "error code", many=True),
    Facet("levels", "lowest level"),
)
MEASURES = (Measure("reward", "reward"), Measure("step", "step"), Measure("calls", "calls"))

NO_ERROR = "no error"
LONGEST_TEXT = 400
"""Characters of a request that the index holds."""


@dataclass(frozen=True)
class EpisodeSource:
    """Makes records of table rows.

    `rows` are rows of the dataset by their id, from which episodes can be run again.
    """

    catalog: Catalog
    tools: Mapping[str, ToolFacts]
    rows: Mapping[str, RlRow]
    rules: RewardRules

    def entry(self, plain: Mapping[str, Any], label: str, step: int | None, *, with_diff: bool, limit: str) -> Entry:
        """One episode. `limit` says why there are no state diffs where `with_diff` is false."""
        episode = episode_from_row(plain)
        replayed, problem = self._replayed(episode) if with_diff else (None, limit)
        record, reward = episode.record, episode.reward
        moment = f"step {step}, sample {episode.sample}" if label == "training" else episode.policy
        codes = sorted({call.error_code for call in record.calls if not call.ok})
        made = parts(episode, self.rules)
        return Entry(
            name=f"{episode.row} · {moment}",
            facets={
                "set": label,
                "policy": episode.policy,
                "server": episode.server,
                "outcome": outcome_of(episode),
                "kind": episode.kind,
                "stop": record.stop,
                "codes": codes or [NO_ERROR],
                "levels": f"{min(reward.levels)} of 3" if reward.levels else "no call",
            },
            measures={"reward": None if reward.masked else reward.total, "step": step, "calls": len(record.calls)},
            text=search_text(record.messages, _start(record.messages), [call.name for call in record.calls]),
            body={
                "facts": [
                    ["row", episode.row],
                    ["server", episode.server],
                    ["kind", episode.kind],
                    ["policy", episode.policy],
                    *([["step", str(step)]] if step is not None else []),
                    ["sample", str(episode.sample)],
                    ["ended by", record.stop],
                ],
                "link": ["its conversation", "dataset.html", episode.row.partition("/")[0]],
                "total": None if reward.masked else reward.total,
                "parts": made,
                "verdict": verdict(episode, self.rules, made),
                "compared": [self._compared(episode)],
                "end": replayed.end if replayed else None,
                "no_diff": problem,
                "tools": [tool.name for tool in episode.tools],
                "events": self._events(episode, replayed),
            },
        )

    def _replayed(self, episode: ScoredEpisode) -> tuple[Replayed | None, str]:
        row = self.rows.get(episode.row)
        if row is None:
            return None, "its row is not in data/dataset, so it cannot be run again"
        try:
            return replay_episode(self.catalog, row, episode.record), ""
        except CannotReplayError as error:
            return None, f"it does not run again on these servers: {error}"

    def _events(self, episode: ScoredEpisode, replayed: Replayed | None) -> list[dict[str, Any]]:
        record = episode.record
        start = _start(record.messages)
        visible = {tool.name: tool for tool in episode.tools}
        stands = {call: step for step, call in enumerate(episode.reward.matching) if call is not None}
        notes = []
        for index, (call, level) in enumerate(zip(record.calls, episode.reward.levels, strict=True)):
            note: dict[str, Any] = {"level": level, "why": level_reason(call, level, visible)}
            if index in stands:
                note["stands"] = stands[index] + 1
            if replayed:
                note["diff"] = replayed.calls[index]
            notes.append(note)
        timeline = Timeline(Tracer(self.tools))
        turn = max(0, start - 1)
        if turn:
            timeline.heading("Before the turn")
        timeline.take(record.messages[:turn], 0, (), earlier=True)
        timeline.heading("The turn that is scored")
        timeline.take(record.messages[turn:], turn, record.calls, notes)
        return timeline.events

    def _compared(self, episode: ScoredEpisode) -> dict[str, Any]:
        """Each expected call beside the one that stands for it, then the calls that stand for none."""
        truth, calls, reward = episode.truth, episode.record.calls, episode.reward
        rows = []
        judged = bool(reward.matching)
        for index, step in enumerate(truth):
            stands = reward.matching[index] if judged else None
            call = calls[stands] if stands is not None else None
            rows.append(
                {
                    "expected": {"name": step.name, "arguments": pairs(step.arguments)},
                    "made": call and {"n": (stands or 0) + 1, "name": call.name, "arguments": pairs(call.arguments)},
                    "differs": differing(call, step, strict=self.rules.strict_values) if call else [],
                    "why": match_reason(index, truth, reward) if judged else "not judged",
                    "good": judged and stands is not None and reward.in_order[index],
                }
            )
        used = set(reward.matching)
        extra = [
            {"n": n + 1, "name": call.name, "arguments": pairs(call.arguments)}
            for n, call in enumerate(calls)
            if n not in used
        ]
        return {"title": "Expected and made", "rows": rows, "extra": extra}


def _start(messages: Sequence[Message]) -> int:
    """The index of the first message that the policy wrote: it answers the last user message."""
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    return users[-1] + 1 if users else 0


def outcome_of(episode: ScoredEpisode) -> str:
    """Whether the episode ended as it should."""
    if episode.reward.masked:
        return "masked"
    if episode.reward.outcome is None:
        return "not judged"
    return "solved" if episode.reward.outcome else "not solved"


def pairs(arguments: Mapping[str, Any] | None) -> list[list[str]]:
    """Arguments as names with JSON text."""
    return [[name, json.dumps(value, ensure_ascii=False)] for name, value in (arguments or {}).items()]


def search_text(messages: Sequence[Message], start: int, tools: Sequence[str]) -> str:
    """What the search finds an episode by: the last request and the tools called."""
    said = next((m.content for m in reversed(messages[:start]) if m.role == "user"), "")
    return "\n".join([said[:LONGEST_TEXT], " ".join(dict.fromkeys(tools))])


def with_steps(rows: Iterator[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Rows of training with their step: samples are counted anew in each."""
    step = 0
    for row in rows:
        step += row["sample"] == 0
        yield row, step


def step_of(policy: str) -> int | None:
    """The step that the name of a policy in validation speaks of."""
    _, found, number = policy.partition("step-")
    return int(number) if found and number.isdigit() else None
