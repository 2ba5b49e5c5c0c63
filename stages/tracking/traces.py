"""Conversations and scored episodes as MLflow traces: a span for each reply, and one for each tool call in it.

A run shows an even sample of what it made. The times of spans are made up, a millisecond for each: they keep the
order and say nothing about speed. Feedback holds the reward and each part of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from stages.conversations import Conversation
from stages.episodes import ScoredEpisode
from stages.records import ExecutedCall, Message
from stages.tracking.database import tracking_uri
from stages.tracking.tracker import Target, Tracker, masked

if TYPE_CHECKING:
    from mlflow.entities import LiveSpan

SAMPLE = 12
"""Traces of one run and policy."""

_STEP = 1_000_000  # nanoseconds
_PARTS = ("validity", "coverage", "efficiency", "name", "arguments")

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Told:
    """What a trace shows; messages from `first` on are the agent's doing, those before it are given."""

    name: str
    messages: Sequence[Message]
    calls: Sequence[ExecutedCall]
    first: int
    tags: Mapping[str, str]
    feedback: Mapping[str, float | bool] = field(default_factory=dict)


def log_conversations(tracker: Tracker, conversations: Sequence[Conversation]) -> None:
    """Show a sample of the conversations with the run."""
    told = [_conversation(item) for item in sampled(conversations, SAMPLE)]
    tracker.attach(_attachment(told))


def log_episodes(tracker: Tracker, episodes: Sequence[ScoredEpisode]) -> None:
    """Show a sample of each policy's episodes with the run."""
    by_policy: dict[str, list[ScoredEpisode]] = {}
    for episode in episodes:
        by_policy.setdefault(episode.policy, []).append(episode)
    told = [_episode(item) for part in by_policy.values() for item in sampled(part, SAMPLE)]
    tracker.attach(_attachment(told))


def sampled(items: Sequence[ItemT], count: int) -> list[ItemT]:
    """At most `count` items, evenly spread and in their order."""
    if len(items) <= count:
        return list(items)
    return [items[place * len(items) // count] for place in range(count)]


def _conversation(item: Conversation) -> Told:
    first = item.turns[0].start + 1 if item.turns else len(item.messages)
    calls = [call for turn in item.turns for call in turn.calls]
    tags = {"kind": item.kind, "server": item.server, "teacher": item.teacher, "persona": item.persona}
    return Told(f"conversation {item.id}", item.messages, calls, first, tags)


def _episode(item: ScoredEpisode) -> Told:
    users = [place for place, message in enumerate(item.record.messages) if message.role == "user"]
    tags = {
        "policy": item.policy, "row": item.row, "kind": item.kind, "server": item.server, "stop": item.record.stop,
    }  # fmt: skip
    feedback: dict[str, float | bool] = {}
    if not item.reward.masked:
        feedback = {"reward": item.reward.total, **{part: getattr(item.reward, part) for part in _PARTS}}
        if item.reward.outcome is not None:
            feedback["solved"] = bool(item.reward.outcome)
    name = f"{item.policy} on {item.row}"
    return Told(name, item.record.messages, item.record.calls, max(users, default=-1) + 1, tags, feedback)


def _attachment(told: Sequence[Told]) -> Any:
    def traces(target: Target) -> None:
        with _tracking_at(tracking_uri()):
            for one in told:
                _write(target, one)

    return traces


@contextmanager
def _tracking_at(uri: str) -> Iterator[None]:
    """MLflow's spans go to its process-wide address, which it also puts into the environment."""
    import mlflow

    name = "MLFLOW_TRACKING_URI"
    before = os.environ.get(name)
    mlflow.set_tracking_uri(uri)
    try:
        yield
    finally:
        mlflow.set_tracking_uri(None)
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def _write(target: Target, told: Told) -> None:
    import mlflow
    from mlflow.entities import AssessmentSource, SpanType

    clock = iter(range(time.time_ns(), 2**63, _STEP))
    root = mlflow.start_span_no_context(
        told.name,
        SpanType.AGENT,
        inputs=_plain([asdict(message) for message in told.messages[: told.first]]),
        tags={key: masked(value) for key, value in told.tags.items()},
        metadata={"mlflow.sourceRun": target.run},
        experiment_id=target.experiment,
        start_time_ns=next(clock),
    )
    _spans(root, told, clock)
    last = told.messages[-1].content if told.messages else ""
    root.end(outputs=_plain(last), end_time_ns=next(clock))
    source = AssessmentSource("CODE", "stages.reward")
    for name, value in told.feedback.items():
        mlflow.log_feedback(trace_id=root.trace_id, name=name, value=value, source=source)


def _spans(root: LiveSpan, told: Told, clock: Iterator[int]) -> None:
    """A span for each reply that is the agent's, with those of its calls inside."""
    import mlflow
    from mlflow.entities import SpanType

    heard = told.first
    for place, message in enumerate(told.messages):
        if place < told.first or message.role != "assistant":
            continue
        reply = mlflow.start_span_no_context(
            "reply",
            SpanType.LLM,
            root,
            inputs=_plain([asdict(each) for each in told.messages[heard:place]]),
            start_time_ns=next(clock),
        )
        for call in (call for call in told.calls if call.position == place):
            _call(reply, call, clock)
        reply.end(outputs=_plain(asdict(message)), end_time_ns=next(clock))
        heard = place + 1


def _call(reply: LiveSpan, call: ExecutedCall, clock: Iterator[int]) -> None:
    import mlflow
    from mlflow.entities import SpanType

    span = mlflow.start_span_no_context(
        call.name or "unreadable call",
        SpanType.TOOL,
        reply,
        inputs=_plain(call.arguments),
        attributes={"executed": call.executed, "error_code": call.error_code},
        start_time_ns=next(clock),
    )
    span.end(outputs=_plain(call.result), status="OK" if call.ok else "ERROR", end_time_ns=next(clock))


def _plain(value: Any) -> Any:
    """The value with secrets masked in every text."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
