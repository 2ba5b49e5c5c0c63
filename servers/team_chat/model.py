"""Records and error codes of the team chat."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity

ChannelId: TypeAlias = Annotated[str, Entity("chat_channel")]
MessageId: TypeAlias = Annotated[str, Entity("chat_message")]
PersonName: TypeAlias = Annotated[str, Entity("chat_person", natural=True)]

ChannelKind: TypeAlias = Literal["public", "private", "direct"]
Role: TypeAlias = Literal["admin", "member", "guest", "deactivated"]
Presence: TypeAlias = Literal["available", "busy", "away", "do_not_disturb"]
Emoji: TypeAlias = Literal["thumbs_up", "heart", "tada", "eyes", "check_mark", "laughing"]


class Fault(StrEnum):
    """What the chat refuses, beyond bad arguments and unknown ids."""

    NOT_A_MEMBER = "not_a_member"
    CHANNEL_ARCHIVED = "channel_archived"
    CHANNEL_PRIVATE = "channel_private"
    CHANNEL_FULL = "channel_full"
    DIRECT_CHANNEL = "direct_channel"
    POSTING_RESTRICTED = "posting_restricted"
    SLOW_MODE = "slow_mode"
    DUPLICATE_MESSAGE = "duplicate_message"
    UNKNOWN_MENTION = "unknown_mention"
    MASS_MENTION_NOT_ALLOWED = "mass_mention_not_allowed"
    THREAD_CLOSED = "thread_closed"
    NOT_THE_AUTHOR = "not_the_author"
    EDIT_WINDOW_CLOSED = "edit_window_closed"
    TEXT_UNCHANGED = "text_unchanged"
    ALREADY_REACTED = "already_reacted"
    REACTION_LIMIT_REACHED = "reaction_limit_reached"
    ALREADY_PINNED = "already_pinned"
    NOT_PINNED = "not_pinned"
    PIN_LIMIT_REACHED = "pin_limit_reached"
    ALREADY_MEMBER = "already_member"
    PERSON_DEACTIVATED = "person_deactivated"
    GUEST_RESTRICTED = "guest_restricted"
    SELF_MESSAGE = "self_message"
    DO_NOT_DISTURB = "do_not_disturb"
    UNTIL_REQUIRED = "until_required"
    UNTIL_NOT_ALLOWED = "until_not_allowed"


@dataclass(frozen=True, slots=True)
class Person(Record):
    """Somebody in the chat; `id` is the user name. The presence lapses at `presence_until`."""

    id: PersonName
    name: str
    role: Role
    presence: Presence
    presence_until: datetime | None
    you: bool


@dataclass(frozen=True, slots=True)
class Channel(Record):
    """A place to write. `slow_minutes` must lie between two posts of one person, 0 sets no pause."""

    id: ChannelId
    name: str
    kind: ChannelKind
    archived: bool
    admins_only: bool
    slow_minutes: int


@dataclass(frozen=True, slots=True)
class Membership(Record):
    """Somebody's place in a channel."""

    id: str
    channel_id: str
    person: str


@dataclass(frozen=True, slots=True)
class Message(Record):
    """Something that was written; replies carry the id of the message that they answer."""

    id: MessageId
    channel_id: str
    author: str
    text: str
    sent_at: datetime
    thread_of: str | None = None
    pinned: bool = False
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Reaction(Record):
    """One person's emoji under a message."""

    id: str
    message_id: str
    person: str
    emoji: Emoji
