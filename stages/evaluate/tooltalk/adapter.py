"""ToolTalk as a benchmark: play a conversation turn by turn, score it, run the controls.

In each turn the agent sees the reference conversation so far, reference calls and their results
included, and may call tools until it answers without a call. A turn ends after 20 messages with calls;
officially it may go on for ever. The record holds what the user said and what the agent did: the
reference parts of a prompt are the task's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stages.evaluate.benchmark import Control, Episode, Request, Score
from stages.evaluate.loop import OneByOne, Silent, run_tasks
from stages.evaluate.tooltalk.data import VERSION, TooltalkPackage, TooltalkTask, Turn
from stages.evaluate.tooltalk.scoring import before, score_episode
from stages.evaluate.tooltalk.texts import DistilBertTexts, EqualTexts, TextVectors
from stages.evaluate.tooltalk.world import World
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolCall, ToolSpec

STEPS = 20


class Tooltalk:
    """The 28 easy and 50 hard conversations.

    Args:
        encoder: directory of `distilbert-base-uncased`, by which free texts are officially compared; None
            compares them as equal.
    """

    name = "tooltalk"

    def __init__(self, encoder: Path | None = None) -> None:
        self._encoder = encoder

    @property
    def version(self) -> str:
        """The package's version, and how texts are compared."""
        return f"nvidia-tooltalk {VERSION}, texts {self.vectors.name}"

    @cached_property
    def package(self) -> TooltalkPackage:
        """The installed package; first use fails with the cure when it is missing."""
        return TooltalkPackage()

    @cached_property
    def vectors(self) -> TextVectors:
        """What compares free texts."""
        return EqualTexts() if self._encoder is None else DistilBertTexts(self._encoder)

    def tasks(self) -> Sequence[TooltalkTask]:
        """All 78 conversations, the easy ones first; a missing encoder is told here, before anything is played."""
        tasks = self.package.tasks
        _ = self.vectors
        return tasks

    def play(self, task: TooltalkTask) -> Episode:
        """Play one conversation, each turn in a world of its own."""
        seen = [_setting(task)]
        kept = [_setting(task)]
        calls: list[ExecutedCall] = []
        state = hashlib.sha256()
        for index, turn in enumerate(task.turns):
            spoken = [Message("user", text) for text in turn.said]
            seen += spoken
            kept += spoken
            world = World(self.package, task, before(task, index))
            own: list[Message] = []
            for _ in range(STEPS):
                reply = yield Request((*seen, *own), self.package.tools)
                position = len(kept)
                for message in (reply, *_results(world, reply, position, calls)):
                    own.append(message)
                    kept.append(message)
                if not reply.tool_calls:
                    break
            state.update(json.dumps(world.state(), sort_keys=True).encode())
            seen += _reference(turn, index)
        return EpisodeRecord(tuple(kept), tuple(calls), state.hexdigest(), "answered")

    def score(self, task: TooltalkTask, episode: EpisodeRecord) -> Score:
        """The official verdict, recomputed from the messages."""
        return score_episode(self.package, task, episode, self.vectors)

    def controls(self) -> tuple[Control, ...]:
        """Gold replay passes everything; doing nothing or leaving out the last call passes nothing."""
        return (
            self._control("gold_replay", len(self.tasks()), lambda task: _Replay(task.turns)),
            self._control("do_nothing", 0, lambda task: Silent()),
            self._control("last_call_dropped", 0, lambda task: _Replay(without_last(task.turns))),
        )

    def _control(self, name: str, expected: int, agent_of: Callable[[TooltalkTask], _Replay | Silent]) -> Control:
        rows = [run_tasks(self, [task], OneByOne(agent_of(task)), width=1)[0] for task in self.tasks()]
        return Control(name, sum(row.score.passed for row in rows), len(rows), expected)


def without_last(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns without the conversation's very last reference call."""
    last = max(index for index, turn in enumerate(turns) if turn.gold)
    cut = Turn(turns[last].said, turns[last].gold[:-1], turns[last].reply)
    return (*turns[:last], cut, *turns[last + 1 :])


@dataclass(frozen=True, slots=True)
class _Replay:
    """An agent that makes the reference calls of its turns, a turn's calls in one message."""

    turns: Sequence[Turn]

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """The turn's calls after a user message, else an empty answer."""
        if messages[-1].role != "user":
            return Message("assistant", "")
        turn = sum(message.role == "assistant" and not message.tool_calls for message in messages)
        gold = self.turns[turn].gold
        return Message("assistant", "", tuple(ToolCall(f"c{i}", c.name, c.arguments) for i, c in enumerate(gold)))


def _setting(task: TooltalkTask) -> Message:
    """Where and when the conversation takes place, and who is logged in."""
    place = task.place
    lines = (f"Location: {place['location']}", f"Time: {place['timestamp']}", f"Logged in: {place.get('username')}")
    return Message("system", "\n".join(lines))


def _results(world: World, reply: Message, position: int, calls: list[ExecutedCall]) -> Iterator[Message]:
    """Run the calls of a message, keep each, and give the messages that answer them."""
    for call in reply.tool_calls:
        done = world.call(call.name, call.arguments)
        code = "" if done.exception is None else "tool_error" if done.executed else "not_executed"
        calls.append(
            ExecutedCall(call.name, call.arguments, position, done.executed, done.exception is None, done.text, code)
        )
        yield Message("tool", done.text, tool_call_id=call.id)


def _reference(turn: Turn, index: int) -> Iterator[Message]:
    """The reference calls, their results, and the reference reply."""
    for number, gold in enumerate(turn.gold):
        identifier = f"call_{index}_{number}"
        yield Message("assistant", "", (ToolCall(identifier, gold.name, gold.arguments),))
        text = json.dumps({"response": gold.response, "exception": gold.exception})
        yield Message("tool", text, tool_call_id=identifier)
    yield Message("assistant", turn.reply)
