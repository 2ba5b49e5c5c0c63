"""What went wrong in an episode, read off its trace, its reward record and the ground truth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pydantic_core import to_json

from stages.episodes import ScoredEpisode
from stages.records import ExecutedCall


class MistakeClass(StrEnum):
    """Kinds of mistakes, in the order in which they are looked for."""

    NEEDLESS_CALL = "needless call"
    NO_CALL = "no call"
    UNREADABLE_CALL = "unreadable call"
    UNKNOWN_TOOL = "unknown tool"
    BAD_ARGUMENTS = "arguments that do not fit"
    REPEATED_FAILURE = "failed call repeated"
    REFUSED_CALL = "refused call"
    WRONG_TOOL = "wrong tool"
    WRONG_VALUE = "wrong value"
    MISSING_CALL = "missing call"
    WRONG_ORDER = "wrong order"
    CUT_OFF = "cut off"
    WRONG_ANSWER = "wrong end"


@dataclass(frozen=True, slots=True)
class Mistake:
    """The first thing that went wrong: its class, the root cause in words, and the tool that it is about ("" none)."""

    kind: MistakeClass
    cause: str
    tool: str = ""


_REFUSALS = {
    "invalid_call": MistakeClass.UNREADABLE_CALL,
    "too_many_calls": MistakeClass.NEEDLESS_CALL,
    "unknown_tool": MistakeClass.UNKNOWN_TOOL,
}


def first_mistake(episode: ScoredEpisode) -> Mistake:
    """The first mistake of an episode whose outcome is wrong."""
    calls, truth = episode.record.calls, episode.truth
    if calls and not truth:
        cause = f"{calls[0].name} was called, though the request asks for no action that a tool can do"
        return Mistake(MistakeClass.NEEDLESS_CALL, cause, calls[0].name)
    if not calls:
        if episode.record.stop == "length":
            return Mistake(MistakeClass.CUT_OFF, "the reply ran into its limit before it made a call")
        cause = (
            f"the reply ended the turn without a call, though {truth[0].name} was needed"
            if truth
            else "the turn broke off"
        )
        return Mistake(MistakeClass.NO_CALL if truth else MistakeClass.CUT_OFF, cause, truth[0].name if truth else "")
    return _of_calls(episode) or _of_the_rest(episode)


def _of_calls(episode: ScoredEpisode) -> Mistake | None:
    wanted = {step.name for step in episode.truth}
    matched = {index for index in episode.reward.matching if index is not None}
    failed: set[tuple[str, str]] = set()
    for index, call in enumerate(episode.record.calls):
        key = call.name, _text(call)
        if not call.ok:
            if key in failed:
                cause = f"{call.name} had failed with the same arguments, and its error was not answered"
                return Mistake(MistakeClass.REPEATED_FAILURE, cause, call.name)
            failed.add(key)
            recovered = any(later.ok and later.name == call.name for later in episode.record.calls[index + 1 :])
            if not recovered:
                return _of_failure(call)
        elif call.name not in wanted:
            return Mistake(MistakeClass.WRONG_TOOL, f"{call.name} does not do what was asked", call.name)
        elif index not in matched:
            cause = f"{call.name} ran with values that are not those of the request: {_text(call)}"
            return Mistake(MistakeClass.WRONG_VALUE, cause, call.name)
    return None


def _of_failure(call: ExecutedCall) -> Mistake:
    kind = _REFUSALS.get(call.error_code)
    if kind is None:
        kind = MistakeClass.REFUSED_CALL if call.executed else MistakeClass.BAD_ARGUMENTS
    return Mistake(kind, f"{call.name or 'a call'} was answered with an error: {call.result}", call.name)


def _of_the_rest(episode: ScoredEpisode) -> Mistake:
    reward = episode.reward
    for step, index, ordered in zip(episode.truth, reward.matching, reward.in_order, strict=True):
        if index is None:
            return Mistake(
                MistakeClass.MISSING_CALL, f"{step.name} was never called as the request needs it", step.name
            )
        if not ordered:
            cause = f"{step.name} was called before the call that it depends on"
            return Mistake(MistakeClass.WRONG_ORDER, cause, step.name)
    if episode.record.stop == "length":
        return Mistake(MistakeClass.CUT_OFF, "the last reply ran into its limit")
    return Mistake(MistakeClass.WRONG_ANSWER, "the calls left another state than the request asks for")


def _text(call: ExecutedCall) -> str:
    return to_json(call.arguments).decode()
