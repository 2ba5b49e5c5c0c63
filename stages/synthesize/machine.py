"""The conversation's state machine (PROVE, section 3): states, events, and the one table that joins them."""

from __future__ import annotations

from enum import StrEnum

from stages.conversations import Transition


class State(StrEnum):
    """Where a conversation stands."""

    QUERY = "QUERY"
    LLM_PROCESSING = "LLM_PROCESSING"
    TOOL_EXECUTION = "TOOL_EXECUTION"
    RECOVERY = "RECOVERY"
    RESPONSE = "RESPONSE"
    CONTINUATION = "CONTINUATION"
    END = "END"


class Event(StrEnum):
    """What moves it on."""

    QUERY_WRITTEN = "query_written"
    CALLS = "calls"
    ANSWER = "answer"
    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILURE = "failure"
    RETRY = "retry"
    ALTERNATIVE = "alternative"
    GIVE_UP = "give_up"
    ANSWERED = "answered"
    FOLLOW_UP = "follow_up"
    CLARIFY = "clarify"
    DONE = "done"


TABLE: dict[tuple[State, Event], State] = {
    (State.QUERY, Event.QUERY_WRITTEN): State.LLM_PROCESSING,
    (State.LLM_PROCESSING, Event.CALLS): State.TOOL_EXECUTION,
    (State.LLM_PROCESSING, Event.ANSWER): State.RESPONSE,
    (State.TOOL_EXECUTION, Event.SUCCESS): State.LLM_PROCESSING,
    (State.TOOL_EXECUTION, Event.PARTIAL_SUCCESS): State.RECOVERY,
    (State.TOOL_EXECUTION, Event.FAILURE): State.RECOVERY,
    (State.RECOVERY, Event.RETRY): State.TOOL_EXECUTION,
    (State.RECOVERY, Event.ALTERNATIVE): State.TOOL_EXECUTION,
    (State.RECOVERY, Event.GIVE_UP): State.RESPONSE,
    (State.RESPONSE, Event.ANSWERED): State.CONTINUATION,
    (State.CONTINUATION, Event.FOLLOW_UP): State.QUERY,
    (State.CONTINUATION, Event.CLARIFY): State.QUERY,
    (State.CONTINUATION, Event.DONE): State.END,
}


class Machine:
    """A run of the table that remembers each step."""

    def __init__(self) -> None:
        self.state = State.QUERY
        self.transitions: list[Transition] = []

    def fire(self, event: Event) -> None:
        """Take one step.

        Raises:
            ValueError: the event is not possible in the present state.
        """
        target = TABLE.get((self.state, event))
        if target is None:
            possible = ", ".join(e for s, e in TABLE if s == self.state)
            raise ValueError(f"{event} is not possible in {self.state}; possible: {possible}")
        self.transitions.append(Transition(self.state, event, target))
        self.state = target
