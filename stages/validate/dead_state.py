"""Dead state: a request for a change after which nothing has changed teaches that calls are for show.

The outcome of such a turn is met by doing nothing at all, so its reward says nothing.
"""

from __future__ import annotations

from servers.kernel.catalog import Catalog
from servers.kernel.session import Session
from stages.conversations import Conversation
from stages.validate.reasons import Reason, Rejection


def check_dead_state(catalog: Catalog, conversation: Conversation) -> Rejection | None:
    """Why the conversation's state is dead, or None.

    Either a turn's successful changes leave the state as it was before the turn (one undoes the other, or sets what
    was set), or a whole multi-turn conversation never moves its state though its chain holds a tool that changes
    something. Clarifications and abstentions may end before the change.
    """
    start = Session(catalog.world(conversation.world)).state_hash
    states = [start, *(turn.state_hash for turn in conversation.turns)]
    for number, turn in enumerate(conversation.turns):
        changes = _changing(catalog, [call.name for call in turn.truth])
        if changes and states[number] == states[number + 1]:
            return Rejection(Reason.DEAD_STATE, f"turn {number}: {', '.join(changes)} left the state as it was")
    wanted = _changing(catalog, conversation.chain)
    if conversation.kind == "multi_turn" and wanted and set(states) == {start}:
        return Rejection(Reason.DEAD_STATE, f"the state never changes, but {', '.join(wanted)} was to be asked for")
    return None


def _changing(catalog: Catalog, tools: list[str] | tuple[str, ...]) -> list[str]:
    return [name for name in dict.fromkeys(tools) if name in catalog.entries and not catalog.entry(name).tool.read_only]
