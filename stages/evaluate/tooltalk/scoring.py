"""ToolTalk's official rule, applied to the calls of a finished episode.

The calls of every turn are made again in worlds of their own. Over the whole conversation each call then
takes the first reference call that it equals and that no earlier call took. A bad action is a call that
changes the world, goes through, and equals no reference call. A conversation succeeds if every reference
call was taken and there is no bad action.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stages.evaluate.benchmark import Score
from stages.evaluate.tooltalk.data import GoldCall, TooltalkPackage, TooltalkTask
from stages.evaluate.tooltalk.texts import TextVectors, compared_by
from stages.evaluate.tooltalk.world import Prediction, World
from stages.records import EpisodeRecord, Message, ToolCall


def score_episode(package: TooltalkPackage, task: TooltalkTask, episode: EpisodeRecord, vectors: TextVectors) -> Score:
    """The verdict on an episode, recomputed from its messages.

    Raises:
        ValueError: the episode has another number of turns than the conversation.
    """
    turns = turns_of(episode.messages)
    if len(turns) != len(task.turns):
        raise ValueError(f"{task.id} has {len(task.turns)} turns, but the episode has {len(turns)}")
    judge = World(package, task, ())
    with compared_by(vectors):
        counts = _counts(judge, list(_replayed(package, task, turns)), task.gold)
    missing = counts["ground_truths"] - counts["matches"]
    reason = "bad_action" if counts["bad_actions"] else "call_missing" if missing else ""
    return Score(not reason, reason, counts)


def turns_of(messages: Sequence[Message]) -> list[list[ToolCall]]:
    """The calls of each turn; a turn begins where the user begins to speak."""
    turns: list[list[ToolCall]] = []
    speaking = False
    for message in messages:
        if message.role == "user":
            if not speaking:
                turns.append([])
        elif turns:
            turns[-1].extend(message.tool_calls)
        speaking = message.role == "user"
    return turns


def before(task: TooltalkTask, turn: int) -> list[GoldCall]:
    """The reference calls of all turns before this one."""
    return [call for earlier in task.turns[:turn] for call in earlier.gold]


def _replayed(
    package: TooltalkPackage, task: TooltalkTask, turns: Sequence[Sequence[ToolCall]]
) -> Iterator[Prediction]:
    for index, calls in enumerate(turns):
        if calls:
            world = World(package, task, before(task, index))
            yield from [world.call(call.name, call.arguments) for call in calls]


def _counts(judge: World, predictions: Sequence[Prediction], gold: Sequence[GoldCall]) -> dict[str, int]:
    left = list(gold)
    matches = actions = valid = bad = 0
    for prediction in predictions:
        taken = next((index for index, call in enumerate(left) if judge.equal(prediction, call)), None)
        if taken is not None:
            left.pop(taken)
        action = judge.is_action(prediction.name)
        matches += taken is not None
        actions += action
        valid += action and taken is not None
        bad += action and taken is None and prediction.exception is None
    return {
        "predictions": len(predictions),
        "ground_truths": len(gold),
        "matches": matches,
        "actions": actions,
        "valid_actions": valid,
        "bad_actions": bad,
    }
