"""What the network's tools return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from servers.kernel.session import Session
from servers.social_media.model import (
    Follow,
    Hashtag,
    NoticeKind,
    PollId,
    Post,
    PostId,
    Profile,
    Reason,
    Relation,
    UserName,
    Visibility,
    Vote,
)
from servers.social_media.rules import blocks, comments_on, followers, likes, me, pending, poll_on, votes


@dataclass(frozen=True, slots=True)
class UserItem:
    """A user in a list, with what they are to the user."""

    username: UserName
    name: str
    followers: int
    private: bool
    relation: Relation


@dataclass(frozen=True, slots=True)
class PostItem:
    """A post in a list; `poll_id` is there when it has a poll."""

    id: PostId
    author: UserName
    text: str
    likes: int
    poll_id: PollId | None = None


@dataclass(frozen=True, slots=True)
class CommentItem:
    """A comment."""

    author: UserName
    text: str


@dataclass(frozen=True, slots=True)
class PollView:
    """A poll; `votes` are there when the user has voted or wrote it, or when it is closed."""

    id: PollId
    options: list[str]
    closes_at: datetime
    votes: list[int] | None = None


@dataclass(frozen=True, slots=True)
class PostDetails:
    """One post with its three latest comments; empty parts are left out."""

    id: PostId
    author: UserName
    text: str
    visibility: Visibility
    posted_at: datetime
    edited: bool
    likes: int
    reposts: int
    comments: list[CommentItem] | None = None
    poll: PollView | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """A post that was written or changed."""

    id: PostId
    text: str
    visibility: Visibility
    poll_id: PollId | None = None


@dataclass(frozen=True, slots=True)
class Reaction:
    """How a post stands after a like."""

    post_id: PostId
    likes: int
    liked: bool


@dataclass(frozen=True, slots=True)
class Commented:
    """A new comment."""

    post_id: PostId
    comment: str
    comments: int


@dataclass(frozen=True, slots=True)
class Voted:
    """A poll after the user's vote: how often each option was chosen."""

    poll_id: PollId
    option: str
    votes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Reported:
    """Confirms a report."""

    post_id: PostId
    reason: Reason
    reported: bool = True


@dataclass(frozen=True, slots=True)
class SentMessage:
    """Confirms a direct message."""

    to: UserName
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Trend:
    """A hashtag and how many posts of the last seven days have it."""

    hashtag: Hashtag
    posts: int


@dataclass(frozen=True, slots=True)
class NoticeItem:
    """Something that concerns the user: who did it, to which post."""

    kind: NoticeKind
    by: UserName
    at: datetime
    post_id: PostId | None = None


def relation(session: Session, username: str) -> Relation:
    """What somebody is to the user."""
    own = me(session).id
    if username == own:
        return "you"
    if blocks(session, own, username):
        return "blocked"
    row = session.table(Follow).get(f"{own}>{username}")
    if row is None:
        return "none"
    return "requested" if pending(session, row) else "following"


def user_item(session: Session, user: Profile) -> UserItem:
    """One line of a list of users."""
    return UserItem(user.id, user.name, followers(session, user.id), user.private, relation(session, user.id))


def post_item(session: Session, post: Post) -> PostItem:
    """One line of a list of posts."""
    poll = poll_on(session, post.id)
    return PostItem(post.id, post.author, post.text, likes(session, post.id), poll.id if poll else None)


def post_details(session: Session, post: Post) -> PostDetails:
    """Everything about one post."""
    return PostDetails(
        id=post.id,
        author=post.author,
        text=post.text,
        visibility=post.visibility,
        posted_at=post.posted_at,
        edited=post.edited,
        likes=likes(session, post.id),
        reposts=len(session.table(Post).where(repost_of=post.id)),
        comments=[CommentItem(row.author, row.text) for row in comments_on(session, post.id)[:3]] or None,
        poll=_poll_view(session, post),
    )


def _poll_view(session: Session, post: Post) -> PollView | None:
    poll = poll_on(session, post.id)
    if poll is None:
        return None
    own = me(session).id
    voted = session.table(Vote).get(f"{poll.id}/{own}") is not None
    known = voted or post.author == own or poll.closes_at <= session.now
    return PollView(poll.id, list(poll.options), poll.closes_at, list(votes(session, poll).values()) if known else None)
