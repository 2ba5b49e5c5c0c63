"""The chat's tools for messages, threads, reactions and pins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.team_chat.model import (
    Channel,
    ChannelId,
    Emoji,
    Fault,
    Membership,
    Message,
    MessageId,
    Person,
    PersonName,
    Reaction,
)
from servers.team_chat.rules import (
    channel_of,
    check_post,
    check_reachable,
    check_text,
    joined_channels,
    live_channel,
    me,
    members_of,
    message_of,
    person_of,
    readable_channel,
)
from servers.team_chat.server import server

EDIT_WINDOW = timedelta(minutes=15)
THREAD_LIFE = timedelta(days=14)
PIN_LIMIT = 5
REACTION_LIMIT = 3

Text = Annotated[str, Field(min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True)
class MessageLine:
    """A message in a list; `replies` is absent when nobody answered."""

    id: MessageId
    channel: str
    author: str
    text: str
    sent_at: datetime
    replies: int | None


@dataclass(frozen=True, slots=True)
class Posted:
    """Confirms a new message."""

    message_id: MessageId
    channel: str


@dataclass(frozen=True, slots=True)
class Replied:
    """Confirms a reply: how many the thread holds now."""

    message_id: MessageId
    thread_of: str
    replies: int


@dataclass(frozen=True, slots=True)
class Edited:
    """A message's new text."""

    message_id: MessageId
    text: str


@dataclass(frozen=True, slots=True)
class Reacted:
    """How many people reacted to a message with the same emoji."""

    message_id: MessageId
    emoji: Emoji
    count: int


@dataclass(frozen=True, slots=True)
class Pinned:
    """Whether a message is pinned, and how many its channel has pinned."""

    message_id: MessageId
    pinned: bool
    pins_in_channel: int


@server.tool(read_only=True)
def list_chat_messages(
    session: Session,
    query: Query = "",
    channel_id: ChannelId | None = None,
    author: PersonName | None = None,
    thread_of: MessageId | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[MessageLine]:
    """Read or search messages in the user's channels, or one thread's replies, newest first.

    With channel_id any public channel can be read. Ordered by time, then id.

    Args:
        query: words of the text; @name finds mentions.
        channel_id: only messages of this channel.
        author: only messages of this person.
        thread_of: only the replies in this message's thread.
        limit: most messages to return.
        offset: how many to skip.

    Raises:
        channel_private: the user is not in this private channel.
    """
    if channel_id is not None:
        readable_channel(session, channel_id)
    if author is not None:
        person_of(session, author)
    mine = {channel_id} if channel_id else joined_channels(session)
    if thread_of is not None:
        message = message_of(session, thread_of)
        mine, thread_of = {message.channel_id}, message.thread_of or message.id
    wanted = {"author": author, "thread_of": thread_of}
    rows = session.table(Message).where(**{name: value for name, value in wanted.items() if value is not None})
    rows = search((row for row in rows if row.channel_id in mine), query, lambda row: row.text)
    rows.sort(key=lambda row: (-row.sent_at.timestamp(), row.id))
    page = paginate(rows, limit, offset)
    return Page([_line(session, row) for row in page.items], page.total, page.next_offset)


def _line(session: Session, row: Message) -> MessageLine:
    replies = len(session.table(Message).where(thread_of=row.id)) or None
    return MessageLine(row.id, channel_of(session, row.channel_id).name, row.author, row.text, row.sent_at, replies)


def _write(session: Session, channel: Channel, text: str, thread_of: str | None = None) -> Message:
    check_text(session, channel, text)
    return session.table(Message).add(
        Message(session.new_id("CMSG"), channel.id, me(session).id, text, session.now, thread_of)
    )


@server.tool()
def post_chat_message(session: Session, channel_id: ChannelId, text: Text) -> Posted:
    """Write a new message in a channel that the user is in; @name mentions a member.

    Args:
        channel_id: the channel, from list_chat_channels.
        text: what to write.

    Raises:
        not_a_member: the user is not in the channel.
        channel_private: the user is not in this private channel.
        channel_archived: the channel can only be read.
        direct_channel: a conversation of two needs send_direct_message.
        posting_restricted: only admins post there.
        slow_mode: the user wrote there too short a time ago.
        duplicate_message: the same text was sent there within the hour.
        unknown_mention: a mentioned person is not in the channel.
        mass_mention_not_allowed: @channel or @here would reach too many.
    """
    channel = live_channel(session, channel_id)
    if channel.kind == "direct":
        raise ToolError(Fault.DIRECT_CHANNEL, f"Use send_direct_message to write to {channel.name}.")
    check_post(session, channel)
    return Posted(_write(session, channel, text).id, channel.name)


@server.tool()
def reply_in_chat_thread(session: Session, message_id: MessageId, text: Text) -> Replied:
    """Answer a message in its thread; threads older than 14 days are closed.

    Args:
        message_id: the message to answer, from list_chat_messages.
        text: what to write.

    Raises:
        not_a_member: the user is not in the channel.
        channel_private: the user is not in this private channel.
        channel_archived: the channel can only be read.
        thread_closed: the thread began more than 14 days ago.
        person_deactivated: the other person of a direct conversation has left the team.
        do_not_disturb: the other person of a direct conversation must not be disturbed now.
        duplicate_message: the same text was sent there within the hour.
        unknown_mention: a mentioned person is not in the channel.
        mass_mention_not_allowed: @channel or @here would reach too many.
    """
    message = message_of(session, message_id)
    root = message_of(session, message.thread_of) if message.thread_of else message
    channel = live_channel(session, root.channel_id)
    if session.now - root.sent_at > THREAD_LIFE:
        raise ToolError(
            Fault.THREAD_CLOSED, f"That thread began on {root.sent_at.date()} and is closed; post_chat_message instead."
        )
    if channel.kind == "direct":
        for name in sorted(members_of(session, channel.id) - {me(session).id}):
            check_reachable(session, person_of(session, name))
    reply = _write(session, channel, text, root.id)
    return Replied(reply.id, root.id, len(session.table(Message).where(thread_of=root.id)))


@server.tool()
def edit_chat_message(session: Session, message_id: MessageId, text: Text) -> Edited:
    """Change the text of a message that the user wrote in the last 15 minutes.

    Args:
        message_id: the message, from list_chat_messages.
        text: the new text.

    Raises:
        not_a_member: the user is not in the channel.
        channel_private: the user is not in this private channel.
        channel_archived: the channel can only be read.
        not_the_author: somebody else wrote it.
        edit_window_closed: it is older than 15 minutes.
        text_unchanged: it says so already.
        duplicate_message: the same text was sent there within the hour.
        unknown_mention: a mentioned person is not in the channel.
        mass_mention_not_allowed: @channel or @here would reach too many.
    """
    message = message_of(session, message_id)
    channel = live_channel(session, message.channel_id)
    if message.author != me(session).id:
        raise ToolError(Fault.NOT_THE_AUTHOR, f"@{message.author} wrote that; reply_in_chat_thread can correct it.")
    closed = message.sent_at + EDIT_WINDOW
    if session.now > closed:
        raise ToolError(
            Fault.EDIT_WINDOW_CLOSED,
            f"That could be edited until {closed:%Y-%m-%d %H:%M} UTC; reply_in_chat_thread instead.",
        )
    if message.text == text:
        raise ToolError(Fault.TEXT_UNCHANGED, "The message says exactly that already; nothing to change.")
    check_text(session, channel, text)
    session.table(Message).put(replace(message, text=text, edited=True))
    return Edited(message.id, text)


@server.tool()
def react_to_chat_message(session: Session, message_id: MessageId, emoji: Emoji) -> Reacted:
    """Put the user's emoji under a message.

    Args:
        message_id: the message, from list_chat_messages.
        emoji: which emoji.

    Raises:
        not_a_member: the user is not in the channel.
        channel_private: the user is not in this private channel.
        channel_archived: the channel can only be read.
        already_reacted: the user's same emoji is there already.
        reaction_limit_reached: the user has put three emojis there.
    """
    message = message_of(session, message_id)
    live_channel(session, message.channel_id)
    own = [row.emoji for row in session.table(Reaction).where(message_id=message.id, person=me(session).id)]
    if emoji in own:
        raise ToolError(Fault.ALREADY_REACTED, f"Your {emoji} is there already; choose another emoji.")
    if len(own) >= REACTION_LIMIT:
        raise ToolError(Fault.REACTION_LIMIT_REACHED, f"You have put {', '.join(own)} there, and three are the most.")
    session.table(Reaction).add(Reaction(session.new_id("CREA"), message.id, me(session).id, emoji))
    return Reacted(message.id, emoji, len(session.table(Reaction).where(message_id=message.id, emoji=emoji)))


@server.tool()
def pin_chat_message(session: Session, message_id: MessageId, action: Literal["pin", "unpin"]) -> Pinned:
    """Pin a message to its channel or unpin it; a channel holds at most five pins.

    Args:
        message_id: the message, from list_chat_messages.
        action: pin or unpin.

    Raises:
        not_a_member: the user is not in the channel.
        channel_private: the user is not in this private channel.
        channel_archived: the channel can only be read.
        already_pinned: it is pinned.
        not_pinned: it is not pinned.
        pin_limit_reached: the channel has five pins.
    """
    message = message_of(session, message_id)
    channel = live_channel(session, message.channel_id)
    pins = session.table(Message).where(channel_id=channel.id, pinned=True)
    if action == "pin" and message.pinned:
        raise ToolError(Fault.ALREADY_PINNED, f"The message is pinned in {channel.name} already.")
    if action == "unpin" and not message.pinned:
        raise ToolError(Fault.NOT_PINNED, f"The message is not pinned in {channel.name}.")
    if action == "pin" and len(pins) >= PIN_LIMIT:
        raise ToolError(
            Fault.PIN_LIMIT_REACHED,
            f"{channel.name} has {len(pins)} pins, which is the most; unpin one first, such as {pins[0].id}.",
        )
    session.table(Message).put(replace(message, pinned=action == "pin"))
    return Pinned(message.id, action == "pin", len(pins) + (1 if action == "pin" else -1))


def _conversation(session: Session, other: Person) -> Channel:
    """The direct channel with somebody, opened when there is none."""
    own = joined_channels(session)
    for channel in session.table(Channel).where(kind="direct"):
        if channel.id in own and other.id in members_of(session, channel.id):
            return channel
    channel = session.table(Channel).add(Channel(session.new_id("CHAN"), other.name, "direct", False, False, 0))
    for name in (me(session).id, other.id):
        session.table(Membership).add(Membership(session.new_id("CMEM"), channel.id, name))
    return channel


@server.tool()
def send_direct_message(session: Session, person: PersonName, text: Text) -> Posted:
    """Write privately to one person, who must not be on do-not-disturb.

    Args:
        person: the user name, from list_chat_people.
        text: what to write.

    Raises:
        self_message: the user can't write to themselves.
        person_deactivated: the person has left the team.
        do_not_disturb: the person must not be disturbed now.
        guest_restricted: the guest is in none of the user's channels.
        duplicate_message: the same text was sent there within the hour.
        unknown_mention: a mentioned person is not in the conversation.
    """
    other = person_of(session, person)
    if other.you:
        raise ToolError(Fault.SELF_MESSAGE, "You can't write to yourself; choose somebody from list_chat_people.")
    check_reachable(session, other)
    shared = joined_channels(session) & {row.channel_id for row in session.table(Membership).where(person=other.id)}
    if other.role == "guest" and not shared:
        raise ToolError(
            Fault.GUEST_RESTRICTED,
            f"{other.name} is a guest in none of your channels; add_channel_member to one of yours comes first.",
        )
    channel = _conversation(session, other)
    return Posted(_write(session, channel, text).id, channel.name)
