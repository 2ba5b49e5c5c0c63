"""BFCL's official rule, applied to the calls of a finished episode.

Model calls and gold calls run in two fresh worlds. After every turn that has gold calls, each public
attribute of every instance must equal the gold one, each gold result of the turn must be found among
all of the model's results so far (each used once), and the turn must have at least one call. A turn
without gold calls is not compared, though what the model does in it changes its world. An episode that
was stopped at the step limit fails. The comparisons are the official functions themselves.

As in the official decoding, a step with an unreadable call counts as no step at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TypeAlias

from stages.evaluate.benchmark import Score
from stages.evaluate.bfcl.data import BfclPackage, BfclTask
from stages.evaluate.bfcl.world import World
from stages.records import EpisodeRecord, Message, ToolCall

Turn: TypeAlias = Sequence[ToolCall]


def score_episode(package: BfclPackage, task: BfclTask, episode: EpisodeRecord) -> Score:
    """The verdict on an episode, recomputed from its messages."""
    turns = turns_of(episode.messages)
    counts = _call_free(task, turns)
    if len(turns) != len(task.turns) or episode.stop == "rounds":
        return Score(False, "force_terminated", counts)
    reason = _first_fault(package, task, turns)
    return Score(not reason, reason, counts)


def turns_of(messages: Sequence[Message]) -> list[list[ToolCall]]:
    """The readable calls of each turn; a turn begins with a user message."""
    turns: list[list[ToolCall]] = []
    for message in messages:
        if message.role == "user":
            turns.append([])
        elif message.role == "assistant" and turns and readable(message):
            turns[-1].extend(message.tool_calls)
    return turns


def readable(message: Message) -> bool:
    """Whether every call of a message could be read; one that could not spoils its whole step."""
    return all(call.arguments is not None for call in message.tool_calls)


def _call_free(task: BfclTask, turns: Sequence[Turn]) -> dict[str, int]:
    """How many turns that must stay free of calls were reached, and in how many it was so."""
    free = [not calls for gold, calls in zip(task.gold, turns, strict=False) if not gold]
    return {"call_free_turns": len(free), "call_free_kept": sum(free)}


def _first_fault(package: BfclPackage, task: BfclTask, turns: Sequence[Turn]) -> str:
    official = import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
    model, reference = World(package, task), World(package, task)
    results: list[str] = []
    for index, (calls, gold) in enumerate(zip(turns, task.gold, strict=True)):
        results.extend(_results(model, calls))
        if not gold:
            continue
        expected = [reference.call(call.name, call.arguments).text for call in gold]
        if not calls:
            return "empty_turn"
        if not official.state_checker(model.instances, reference.instances)["valid"]:
            return "state_mismatch"
        if not official.response_checker(results, expected, index)["valid"]:
            return "result_missing"
    return ""


def _results(world: World, calls: Turn) -> Iterator[str]:
    for call in calls:
        if call.arguments is not None:
            yield world.call(call.name, call.arguments).text
