"""BFCL multi-turn as a benchmark: play a conversation, score it, run the controls.

The agent gets native tool calls and no system prompt. In each turn it may take 20 steps, a step being
one message with calls; a message without calls, or with one that can't be read, ends the turn. One
step more ends the whole episode, which then fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Literal

from stages.evaluate.benchmark import Control, Episode, Request, Score
from stages.evaluate.bfcl.data import VERSION, BfclPackage, BfclTask
from stages.evaluate.bfcl.scoring import readable, score_episode
from stages.evaluate.bfcl.world import World
from stages.evaluate.loop import OneByOne, Silent, run_tasks
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolCall, ToolSpec, TruthCall


class Bfcl:
    """The four multi-turn categories, 200 tasks each."""

    name = "bfcl_multi_turn"
    version = f"bfcl-eval {VERSION}, v4 data"

    @cached_property
    def package(self) -> BfclPackage:
        """The installed package; first use fails with the cure when it is missing."""
        return BfclPackage()

    def tasks(self) -> Sequence[BfclTask]:
        """All 800 tasks, category by category."""
        return self.package.tasks

    def play(self, task: BfclTask) -> Episode:
        """Play one conversation in a world of its own."""
        prompts = import_module("bfcl_eval.constants.default_prompts")
        arrival: str = prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC
        limit: int = prompts.MAXIMUM_STEP_LIMIT
        talk = _Talk(World(self.package, task))
        for index, text in enumerate(task.turns):
            talk.messages.append(Message("user", arrival if text is None else text))
            tools = self.tools_at(task, index)
            for _ in range(limit + 1):
                talk.messages.append((yield Request(tuple(talk.messages), tools)))
                if not talk.execute_last():
                    break
            else:
                return talk.record("rounds")
        return talk.record("answered")

    def score(self, task: BfclTask, episode: EpisodeRecord) -> Score:
        """The official verdict, recomputed from the messages."""
        return score_episode(self.package, task, episode)

    def tools_at(self, task: BfclTask, turn: int) -> tuple[ToolSpec, ...]:
        """The tools on offer in a turn; a held-back one stands at the end once it has arrived."""
        documented = [tool for name in task.classes for tool in self.package.tools_of(name)]
        held = [name for names in task.arrivals.values() for name in names]
        here = [name for arrives, names in task.arrivals.items() if arrives <= turn for name in names]
        late = [tool for name in here for tool in documented if tool.name == name]
        return (*(tool for tool in documented if tool.name not in held), *late)

    def controls(self) -> tuple[Control, ...]:
        """Gold replay passes everything; doing nothing or leaving out the last call passes nothing."""
        tasks = self.tasks()
        return (
            self._control("gold_replay", len(tasks), lambda task: _Replay(task.gold)),
            self._control("do_nothing", 0, lambda task: Silent()),
            self._control("last_call_dropped", 0, lambda task: _Replay(without_last(task.gold))),
        )

    def _control(self, name: str, expected: int, agent_of: Callable[[BfclTask], _Replay | Silent]) -> Control:
        rows = [run_tasks(self, [task], OneByOne(agent_of(task)), width=1)[0] for task in self.tasks()]
        return Control(name, sum(row.score.passed for row in rows), len(rows), expected)


def without_last(gold: Sequence[Sequence[TruthCall]]) -> tuple[tuple[TruthCall, ...], ...]:
    """The gold calls without the very last one."""
    turns = [tuple(turn) for turn in gold]
    last = max((index for index, turn in enumerate(turns) if turn), default=None)
    if last is not None:
        turns[last] = turns[last][:-1]
    return tuple(turns)


@dataclass(frozen=True, slots=True)
class _Replay:
    """An agent that makes given calls, a turn's calls in one message."""

    turns: Sequence[Sequence[TruthCall]]

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """The turn's calls after a user message, else an empty answer."""
        if messages[-1].role != "user":
            return Message("assistant", "")
        turn = sum(message.role == "user" for message in messages) - 1
        calls = (
            ToolCall(f"call_{turn}_{index}", call.name, call.arguments) for index, call in enumerate(self.turns[turn])
        )
        return Message("assistant", "", tuple(calls))


@dataclass(slots=True)
class _Talk:
    """The conversation so far, and what its calls did to the world."""

    world: World
    messages: list[Message] = field(default_factory=list)
    calls: list[ExecutedCall] = field(default_factory=list)

    def execute_last(self) -> bool:
        """Run the calls of the last message; False when the turn is over."""
        reply = self.messages[-1]
        position = len(self.messages) - 1
        go_on = readable(reply)
        for call in reply.tool_calls:
            done = self._execute(call, position) if go_on else _skipped(call, position)
            self.calls.append(done)
            self.messages.append(Message("tool", done.result, tool_call_id=call.id))
        return go_on and bool(reply.tool_calls)

    def _execute(self, call: ToolCall, position: int) -> ExecutedCall:
        outcome = self.world.call(call.name, call.arguments or {})
        return ExecutedCall(
            name=call.name,
            arguments=call.arguments,
            position=position,
            executed=outcome.executed,
            ok=not outcome.error,
            result=outcome.text,
            error_code=outcome.error,
        )

    def record(self, stop: Literal["answered", "rounds"]) -> EpisodeRecord:
        """The finished episode."""
        return EpisodeRecord(tuple(self.messages), tuple(self.calls), self.world.digest(), stop)


def _skipped(call: ToolCall, position: int) -> ExecutedCall:
    why = call.error or "another call of this step could not be read"
    return ExecutedCall(
        name=call.name,
        arguments=call.arguments,
        position=position,
        executed=False,
        ok=False,
        result=f"Not executed: {why}",
        error_code="unreadable",
    )
