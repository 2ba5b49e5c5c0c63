"""The chat's server object, which its tool modules fill."""

from __future__ import annotations

from servers.kernel.server import ToolServer
from servers.team_chat.model import Channel, Fault, Membership, Message, Person, Reaction
from servers.team_chat.seed import build

server = ToolServer(
    "team_chat",
    "Channels, threads and direct messages of a team",
    records=(Person, Channel, Membership, Message, Reaction),
    seed=build,
    faults=Fault,
)
