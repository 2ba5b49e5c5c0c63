"""Held-out servers: their tools are only seen when they are tested on.

A tool that was only a distractor is taken off the visible list, which no call of the conversation depends on, so
its replay stays exact. A conversation that calls such a tool, names it in a result, or asks for what it does
can't be mended and is rejected.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from servers.kernel.catalog import Catalog
from stages.conversations import Conversation
from stages.validate.reasons import Reason, Rejection
from stages.validate.sources import occurs


def hide_held_out(catalog: Catalog, conversation: Conversation, servers: Collection[str]) -> Conversation | Rejection:
    """The conversation without tools of held-out servers; of such a server itself, as it is."""
    if not servers or conversation.server in servers:
        return conversation
    hidden = {name for name, entry in catalog.entries.items() if entry.server.name in servers}
    shown = {tool.name for tool in conversation.tools} & hidden
    named = {call.name for turn in conversation.turns for call in turn.calls} & hidden
    results = " ".join(message.content for message in conversation.messages if message.role == "tool")
    named |= {name for name in shown if occurs(name, results)}
    if named:
        return Rejection(Reason.SHOWS_HELD_OUT_SERVER, f"it uses or names {', '.join(sorted(named))}")
    if "irrelevance" in conversation.perturbations:
        asked = conversation.context.get("asked_server")
        if asked is None or asked in servers:
            return Rejection(Reason.SHOWS_HELD_OUT_SERVER, f"its request is one for {asked or 'an unknown server'}")
    tools = tuple(tool for tool in conversation.tools if tool.name not in hidden)
    if not tools:
        return Rejection(Reason.SHOWS_HELD_OUT_SERVER, f"it shows nothing but {', '.join(sorted(shown))}")
    return replace(conversation, tools=tools)
