"""What the chat's tools share: finding things, and the rules of membership, mentions and presence."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.team_chat.model import Channel, Fault, Membership, Message, Person, Presence

MASS_MENTION_LIMIT = 12
"""Most people whom one who is no admin may notify with @channel or @here."""

REPEAT_WINDOW = timedelta(hours=1)
_MENTION = re.compile(r"(?<!\S)@([a-z][a-z_]*)")


def me(session: Session) -> Person:
    """The person whom the agent serves."""
    return session.table(Person).where(you=True)[0]


def person_of(session: Session, name: str) -> Person:
    """The person, or an error that says how to find one."""
    return session.table(Person).require(name, "list_chat_people shows the valid user names.")


def channel_of(session: Session, channel_id: str) -> Channel:
    """The channel, or an error that says how to find one."""
    return session.table(Channel).require(channel_id, "list_chat_channels shows the valid channel ids.")


def members_of(session: Session, channel_id: str) -> set[str]:
    """User names of a channel's members."""
    return {row.person for row in session.table(Membership).where(channel_id=channel_id)}


def joined_channels(session: Session) -> set[str]:
    """Ids of the channels that the user is in."""
    return {row.channel_id for row in session.table(Membership).where(person=me(session).id)}


def readable_channel(session: Session, channel_id: str) -> Channel:
    """The channel, refused when it is not public and the user is not in it."""
    channel = channel_of(session, channel_id)
    if channel.kind != "public" and me(session).id not in members_of(session, channel.id):
        raise ToolError(
            Fault.CHANNEL_PRIVATE,
            f"{channel.name} is {channel.kind} and you are not in it; ask one of its members to add you.",
        )
    return channel


def live_channel(session: Session, channel_id: str) -> Channel:
    """The channel, refused when it is archived or the user is not in it."""
    channel = readable_channel(session, channel_id)
    if channel.archived:
        raise ToolError(
            Fault.CHANNEL_ARCHIVED,
            f"{channel.name} is archived and can only be read; choose another from list_chat_channels.",
        )
    if me(session).id not in members_of(session, channel.id):
        raise ToolError(
            Fault.NOT_A_MEMBER,
            f"You are not in {channel.name}; add_channel_member with person {me(session).id} comes first.",
        )
    return channel


def message_of(session: Session, message_id: str) -> Message:
    """The message, refused when the user may not read its channel."""
    message = session.table(Message).require(message_id, "list_chat_messages shows the valid message ids.")
    readable_channel(session, message.channel_id)
    return message


def presence_of(session: Session, person: Person) -> Presence:
    """The presence that holds now: one that has lapsed means available."""
    if person.presence_until is not None and session.now >= person.presence_until:
        return "available"
    return person.presence


def check_reachable(session: Session, person: Person) -> None:
    """Refuse to write to somebody who has left or must not be disturbed."""
    if person.role == "deactivated":
        raise ToolError(Fault.PERSON_DEACTIVATED, f"{person.name} has left the team; list_chat_people shows others.")
    if presence_of(session, person) == "do_not_disturb" and person.presence_until:
        raise ToolError(
            Fault.DO_NOT_DISTURB,
            f"{person.name} must not be disturbed until {person.presence_until:%Y-%m-%d %H:%M} UTC; "
            "wait, or post in a channel that you share.",
        )


def whole_minute(moment: datetime) -> datetime:
    """The first whole minute that is not before a moment, since messages show no seconds."""
    return (moment + timedelta(minutes=1, microseconds=-1)).replace(second=0, microsecond=0)


def check_post(session: Session, channel: Channel) -> None:
    """Refuse a new message where the user may not write, or not yet."""
    author = me(session)
    if channel.admins_only and author.role != "admin":
        raise ToolError(
            Fault.POSTING_RESTRICTED,
            f"Only admins post in {channel.name}; reply in a thread or choose another channel.",
        )
    own = [row.sent_at for row in session.table(Message).where(channel_id=channel.id, author=author.id)]
    free_at = max(own, default=session.now - timedelta(days=1)) + timedelta(minutes=channel.slow_minutes)
    if session.now < free_at:
        raise ToolError(
            Fault.SLOW_MODE,
            f"{channel.name} allows one message in {channel.slow_minutes} minutes; post again at "
            f"{whole_minute(free_at):%H:%M} UTC.",
        )


def check_text(session: Session, channel: Channel, text: str) -> None:
    """Refuse a text that the user just sent there, or mentions that reach nobody or too many."""
    author, members = me(session), members_of(session, channel.id)
    for row in session.table(Message).where(channel_id=channel.id, author=author.id, text=text):
        if session.now - row.sent_at < REPEAT_WINDOW:
            raise ToolError(
                Fault.DUPLICATE_MESSAGE, f"You sent the same text to {channel.name} at {row.sent_at:%H:%M} UTC."
            )
    for name in _MENTION.findall(text):
        if name in ("channel", "here"):
            if len(members) > MASS_MENTION_LIMIT and author.role != "admin":
                raise ToolError(
                    Fault.MASS_MENTION_NOT_ALLOWED,
                    f"@{name} would notify {len(members)} people, more than {MASS_MENTION_LIMIT}; mention single ones.",
                )
        elif name not in members:
            raise ToolError(
                Fault.UNKNOWN_MENTION,
                f"@{name[:40]} is not in {channel.name}; list_chat_people with its channel_id shows who is.",
            )
