"""The chat's tools for channels and people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import DateTime
from servers.team_chat.model import (
    Channel,
    ChannelId,
    ChannelKind,
    Fault,
    Membership,
    Person,
    PersonName,
    Presence,
    Role,
)
from servers.team_chat.rules import (
    channel_of,
    joined_channels,
    me,
    members_of,
    person_of,
    presence_of,
    readable_channel,
)
from servers.team_chat.seed import CHANNEL_LIMIT
from servers.team_chat.server import server

LONGEST_PRESENCE = {"do_not_disturb": timedelta(hours=24), "busy": timedelta(days=7), "away": timedelta(days=60)}


@dataclass(frozen=True, slots=True)
class ChannelSummary:
    """A channel in a list; `joined` says whether the user is in it."""

    id: ChannelId
    name: str
    kind: ChannelKind
    members: int
    joined: bool
    archived: bool


@dataclass(frozen=True, slots=True)
class PersonSummary:
    """Somebody in a list; `until` is when the presence lapses."""

    id: PersonName
    name: str
    role: Role
    presence: Presence
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Added:
    """Who joined which channel, and how many are in it now."""

    channel: str
    person: str
    members: int


@dataclass(frozen=True, slots=True)
class OwnPresence:
    """The user's presence after a change."""

    presence: Presence
    until: datetime | None


@server.tool(read_only=True)
def list_chat_channels(
    session: Session, query: Query = "", kind: ChannelKind | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[ChannelSummary]:
    """List chat channels with their ids: public ones and those that the user is in. Ordered by name.

    Use it first whenever a request names a channel. Direct conversations show only with kind direct.

    Args:
        query: words of the channel's name.
        kind: only public, private or direct channels.
        limit: most channels to return.
        offset: how many to skip.
    """
    mine = joined_channels(session)
    rows = search(session.table(Channel).all(), query.replace("#", ""), lambda channel: channel.name)
    rows = [row for row in rows if row.kind == "public" or row.id in mine]
    rows = [row for row in rows if (row.kind == kind if kind else row.kind != "direct")]
    found = [
        ChannelSummary(row.id, row.name, row.kind, len(members_of(session, row.id)), row.id in mine, row.archived)
        for row in sorted(rows, key=lambda row: (row.name, row.id))
    ]
    return paginate(found, limit, offset)


@server.tool(read_only=True)
def list_chat_people(
    session: Session, query: Query = "", channel_id: ChannelId | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[PersonSummary]:
    """List people in the chat with user name, role and presence; search by name. Ordered by name.

    Args:
        query: words of the person's name or user name.
        channel_id: only members of this channel.
        limit: most people to return.
        offset: how many to skip.

    Raises:
        channel_private: the user is not in this private channel.
    """
    members = members_of(session, readable_channel(session, channel_id).id) if channel_id else None
    rows = search(session.table(Person).all(), query, lambda person: f"{person.name} @{person.id}")
    found = []
    for row in sorted(rows, key=lambda person: (person.name, person.id)):
        if members is None or row.id in members:
            presence = presence_of(session, row)
            until = None if presence == "available" else row.presence_until
            found.append(PersonSummary(row.id, row.name, row.role, presence, until))
    return paginate(found, limit, offset)


@server.tool()
def add_channel_member(session: Session, channel_id: ChannelId, person: PersonName) -> Added:
    """Add somebody, or the user, to a channel; guests can be in one channel only.

    Args:
        channel_id: the channel, from list_chat_channels.
        person: the user name, from list_chat_people.

    Raises:
        direct_channel: a direct conversation stays between two.
        channel_private: the user is not in this private channel.
        channel_archived: the channel is archived.
        person_deactivated: the person has left the team.
        already_member: the person is in it already.
        guest_restricted: the guest is in another channel.
        channel_full: 24 people are in it.
    """
    channel, newcomer = channel_of(session, channel_id), person_of(session, person)
    members = members_of(session, channel.id)
    if channel.kind == "direct":
        raise ToolError(Fault.DIRECT_CHANNEL, "A direct conversation stays between two; choose a channel.")
    if channel.kind == "private" and me(session).id not in members:
        raise ToolError(Fault.CHANNEL_PRIVATE, f"Only members of {channel.name} may add people; ask one of them.")
    if channel.archived:
        raise ToolError(Fault.CHANNEL_ARCHIVED, f"{channel.name} is archived and takes nobody in.")
    if newcomer.role == "deactivated":
        raise ToolError(Fault.PERSON_DEACTIVATED, f"{newcomer.name} has left the team and can't be added.")
    if newcomer.id in members:
        raise ToolError(Fault.ALREADY_MEMBER, f"{newcomer.name} is in {channel.name} already.")
    if newcomer.role == "guest" and _in_a_channel(session, newcomer.id):
        raise ToolError(
            Fault.GUEST_RESTRICTED, f"{newcomer.name} is a guest in another channel, and guests may be in one only."
        )
    if len(members) >= CHANNEL_LIMIT:
        raise ToolError(
            Fault.CHANNEL_FULL,
            f"{channel.name} holds {len(members)} people, which is the most; choose another channel.",
        )
    session.table(Membership).add(Membership(session.new_id("CMEM"), channel.id, newcomer.id))
    return Added(channel.name, newcomer.id, len(members) + 1)


def _in_a_channel(session: Session, name: str) -> bool:
    rows = session.table(Membership).where(person=name)
    return any(channel_of(session, row.channel_id).kind != "direct" for row in rows)


@server.tool(idempotent=True)
def set_chat_presence(session: Session, presence: Presence, until: DateTime | None = None) -> OwnPresence:
    """Set the user's presence: available, or busy, away or do_not_disturb until some time.

    Args:
        presence: the new presence.
        until: when it lapses; needed for all but available.

    Raises:
        until_required: all but available need an end.
        until_not_allowed: the end is past, too far ahead, or given for available.
    """
    if presence == "available":
        if until is not None:
            raise ToolError(Fault.UNTIL_NOT_ALLOWED, "Available has no end; leave until out.")
    elif until is None:
        raise ToolError(Fault.UNTIL_REQUIRED, f"Say until when to be {presence}; ask the user for the time.")
    else:
        latest = session.now + LONGEST_PRESENCE[presence]
        if not session.now < until <= latest:
            raise ToolError(
                Fault.UNTIL_NOT_ALLOWED,
                f"The end of {presence} must lie between {session.now:%Y-%m-%d %H:%M} and {latest:%Y-%m-%d %H:%M} UTC.",
            )
    session.table(Person).put(replace(me(session), presence=presence, presence_until=until))
    return OwnPresence(presence, until)
