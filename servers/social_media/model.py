"""Records and error codes of the social network."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden

UserName: TypeAlias = Annotated[str, Entity("social_user", natural=True)]
PostId: TypeAlias = Annotated[str, Entity("social_post")]
PollId: TypeAlias = Annotated[str, Entity("social_poll")]
Hashtag: TypeAlias = Annotated[str, Entity("hashtag", natural=True)]

Visibility: TypeAlias = Literal["public", "followers", "private"]
MessagePolicy: TypeAlias = Literal["everyone", "followed", "nobody"]
Relation: TypeAlias = Literal["you", "following", "requested", "blocked", "none"]
Reason: TypeAlias = Literal["spam", "harassment", "misinformation", "violence"]
NoticeKind: TypeAlias = Literal["mention", "like", "comment", "follow", "poll_closed"]


class Fault(StrEnum):
    """What the network refuses, beyond bad arguments and unknown ids."""

    POST_NOT_VISIBLE = "post_not_visible"
    PROFILE_PRIVATE = "profile_private"
    POST_REMOVED = "post_removed"
    ACCOUNT_SUSPENDED = "account_suspended"
    YOU_BLOCKED_THEM = "you_blocked_them"
    THEY_BLOCKED_YOU = "they_blocked_you"
    OWN_PROFILE = "own_profile"
    OWN_POST = "own_post"
    NOT_YOUR_POST = "not_your_post"
    EDIT_WINDOW_OVER = "edit_window_over"
    POLL_HAS_VOTES = "poll_has_votes"
    RATE_LIMITED = "rate_limited"
    UNKNOWN_MENTION = "unknown_mention"
    TOO_MANY_HASHTAGS = "too_many_hashtags"
    POLL_OPTIONS_REPEAT = "poll_options_repeat"
    ALREADY_LIKED = "already_liked"
    NOT_LIKED = "not_liked"
    ALREADY_REPOSTED = "already_reposted"
    NOT_REPOSTABLE = "not_repostable"
    ALREADY_FOLLOWING = "already_following"
    REQUEST_PENDING = "follow_request_pending"
    NOT_FOLLOWING = "not_following"
    ALREADY_BLOCKED = "user_already_blocked"
    NOT_BLOCKED = "user_not_blocked"
    MESSAGES_NOT_ALLOWED = "messages_not_allowed"
    POLL_CLOSED = "poll_closed"
    ALREADY_VOTED = "already_voted"
    NO_SUCH_OPTION = "no_such_option"
    ALREADY_REPORTED = "already_reported"


@dataclass(frozen=True, slots=True)
class Profile(Record):
    """A user, keyed by user name. A private profile is read by its followers alone.

    `accepts_after` is how many hours its owner takes to accept a follower.
    """

    id: UserName
    name: str
    bio: str
    private: bool
    messages: MessagePolicy
    suspended: bool
    me: bool
    accepts_after: Annotated[int, Hidden]


@dataclass(frozen=True, slots=True)
class Follow(Record):
    """`follower` follows `followee`, or asked to from `since` on when `requested`."""

    follower: UserName
    followee: UserName
    since: datetime
    requested: bool


@dataclass(frozen=True, slots=True)
class UserBlock(Record):
    """`blocker` sees nothing of `blocked`, and the other way round."""

    blocker: UserName
    blocked: UserName
    since: datetime


@dataclass(frozen=True, slots=True)
class Post(Record):
    """A post; it exists from `posted_at` on. `repost_of` is empty for an original one."""

    id: PostId
    author: UserName
    text: str
    visibility: Visibility
    posted_at: datetime
    edited: bool = False
    removed: bool = False
    repost_of: str = ""


@dataclass(frozen=True, slots=True)
class Like(Record):
    """Somebody likes a post."""

    post_id: PostId
    user: UserName


@dataclass(frozen=True, slots=True)
class Comment(Record):
    """A comment under a post."""

    post_id: PostId
    author: UserName
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Poll(Record):
    """The poll of a post."""

    id: PollId
    post_id: PostId
    options: tuple[str, ...]
    closes_at: datetime


@dataclass(frozen=True, slots=True)
class Vote(Record):
    """Somebody's choice in a poll."""

    poll_id: PollId
    user: UserName
    option: str


@dataclass(frozen=True, slots=True)
class Message(Record):
    """A direct message."""

    sender: UserName
    recipient: UserName
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Report(Record):
    """A complaint of the user about a post."""

    post_id: PostId
    reason: Reason
    at: datetime


@dataclass(frozen=True, slots=True)
class Notice(Record):
    """Something that concerns the user; `post_id` is empty for a new follower."""

    kind: NoticeKind
    by: UserName
    post_id: str
    at: datetime
