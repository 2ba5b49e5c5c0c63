"""Running a conversation again on a fresh session: the same calls must give the same results and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from servers.kernel.catalog import Catalog
from servers.kernel.errors import KernelFault, UnknownToolError
from servers.kernel.session import Session
from stages.artifacts import dump
from stages.conversations import Conversation
from stages.records import Json
from stages.validate.reasons import Reason, Rejection

Ran: TypeAlias = "tuple[str, Mapping[str, Json] | None]"
"""A call's name and arguments."""


def check_replay(catalog: Catalog, conversation: Conversation, max_error_rate: float) -> Rejection | None:
    """Why the conversation does not replay, or None.

    Only schema and execution errors count towards the rate; an empty result is none. Ground truth must
    run without any error on a session of its own; where it is call for call what the turn's replay has just
    run without any, that run is its own.
    """
    session = Session(catalog.world(conversation.world))
    calls = errors = 0
    for number, turn in enumerate(conversation.turns):
        before = session.fork()
        session.user_turn()
        done: list[Ran] = []
        for call in turn.calls:
            calls += 1
            errors += not call.ok
            if not call.executed and call.error_code != KernelFault.INVALID_ARGUMENTS:
                continue
            try:
                outcome = catalog.call(session, call.name, call.arguments or {})
            except UnknownToolError as error:
                return Rejection(Reason.UNKNOWN_TOOL, str(error))
            if outcome.text != call.result:
                detail = f"turn {number}, {call.name}: recorded {call.result[:120]}, replayed {outcome.text[:120]}"
                return Rejection(Reason.REPLAY_DIFFERS, detail)
            if outcome.ok and call.ok:
                done.append((call.name, call.arguments))
        if session.state_hash != turn.state_hash:
            return Rejection(Reason.REPLAY_DIFFERS, f"turn {number} ends in another state")
        if len(done) < len(turn.calls) or not _same(done, [(call.name, call.arguments) for call in turn.truth]):
            rejection = _check_truth(catalog, before, conversation, number)
            if rejection is not None:
                return rejection
    if calls and errors / calls > max_error_rate:
        return Rejection(Reason.ERROR_RATE, f"{errors} of {calls} calls failed")
    return None


def _same(some: Sequence[Ran], others: Sequence[Ran]) -> bool:
    """Whether two runs make the same calls: unlike `==`, a representation tells 1 from true and from 1.0."""
    return repr(some) == repr(others)


def _check_truth(catalog: Catalog, session: Session, conversation: Conversation, number: int) -> Rejection | None:
    turn = conversation.turns[number]
    session.user_turn()
    for call in turn.truth:
        try:
            outcome = catalog.call(session, call.name, call.arguments)
        except UnknownToolError as error:
            return Rejection(Reason.UNKNOWN_TOOL, str(error))
        if not outcome.ok:
            return Rejection(Reason.TRUTH_FAILS, f"turn {number}, {call.name}: {outcome.text[:200]}")
    ran = [(call.name, call.arguments) for call in turn.calls if call.ok]
    for call in turn.truth:
        if (call.name, call.arguments) not in ran:
            detail = f"turn {number}, {call.name}({dump(call.arguments)[:200]}): no such call was made"
            return Rejection(Reason.TRUTH_FAILS, detail)
    if session.state_hash != turn.state_hash:
        return Rejection(Reason.TRUTH_FAILS, f"turn {number}: the ground truth ends in another state")
    return None
