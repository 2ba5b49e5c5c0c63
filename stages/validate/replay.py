"""Running a conversation again on a fresh session: the same calls must give the same results and states."""

from __future__ import annotations

from servers.kernel.catalog import Catalog
from servers.kernel.errors import KernelFault, UnknownToolError
from servers.kernel.session import Session
from stages.artifacts import dump
from stages.conversations import Conversation
from stages.validate.reasons import Reason, Rejection


def check_replay(catalog: Catalog, conversation: Conversation, max_error_rate: float) -> Rejection | None:
    """Why the conversation does not replay, or None.

    Only schema and execution errors count towards the rate; an empty result is none. Ground truth must
    run without any error on a session of its own.
    """
    session = Session(catalog.world(conversation.world))
    calls = errors = 0
    for number, turn in enumerate(conversation.turns):
        before = session.fork()
        session.user_turn()
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
        if session.state_hash != turn.state_hash:
            return Rejection(Reason.REPLAY_DIFFERS, f"turn {number} ends in another state")
        rejection = _check_truth(catalog, before, conversation, number)
        if rejection is not None:
            return rejection
    if calls and errors / calls > max_error_rate:
        return Rejection(Reason.ERROR_RATE, f"{errors} of {calls} calls failed")
    return None


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
