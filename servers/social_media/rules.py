"""Who sees what, who may do what, and how often."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown
from servers.social_media.model import Comment, Fault, Follow, Like, Message, Poll, Post, Profile, UserBlock, Vote

EDIT_WINDOW = timedelta(hours=2)
HOUR = timedelta(hours=1)
POSTS_AN_HOUR = 5
COMMENTS_AN_HOUR = 10
MESSAGES_AN_HOUR = 10
MOST_HASHTAGS = 4
TREND_WINDOW = timedelta(days=7)

_MENTION = re.compile(r"@([a-z0-9_]{2,60})")
_HASHTAG = re.compile(r"#([a-z0-9_]{2,40})", re.IGNORECASE | re.ASCII)


def me(session: Session) -> Profile:
    """The user whom the assistant serves."""
    return session.table(Profile).where(me=True)[0]


def user_of(session: Session, username: str) -> Profile:
    """The user of this name, with or without the at sign, or an error that says how to find one."""
    return session.table(Profile).require(username.removeprefix("@"), "list_social_users finds user names by name.")


def reachable(session: Session, username: str) -> Profile:
    """A user with whom the user can deal: active, and not blocked on either side."""
    other = user_of(session, username)
    own = me(session).id
    if other.suspended:
        raise ToolError(
            Fault.ACCOUNT_SUSPENDED, f"The account of @{other.id} is suspended; nothing can be done with it."
        )
    if blocks(session, own, other.id):
        raise ToolError(
            Fault.YOU_BLOCKED_THEM, f"You blocked @{other.id}; set_social_block with unblock makes contact possible."
        )
    if blocks(session, other.id, own):
        raise ToolError(Fault.THEY_BLOCKED_YOU, f"@{other.id} blocked you; only they can change that.")
    return other


def open_profile(session: Session, username: str) -> Profile:
    """A user with whom the user can deal and whose posts they may read."""
    other = reachable(session, username)
    if other.private and not other.me and not follows(session, me(session).id, other.id):
        raise ToolError(
            Fault.PROFILE_PRIVATE,
            f"The profile of @{other.id} is private, so only followers see posts; set_social_follow asks to follow.",
        )
    return other


def blocks(session: Session, blocker: str, blocked: str) -> bool:
    """Whether one user blocks another."""
    return session.table(UserBlock).get(f"{blocker}>{blocked}") is not None


def follows(session: Session, follower: str, followee: str) -> bool:
    """Whether one user follows another; a request counts once its receiver has had the time to accept it."""
    row = session.table(Follow).get(f"{follower}>{followee}")
    return row is not None and not pending(session, row)


def pending(session: Session, row: Follow) -> bool:
    """Whether a request waits to be accepted."""
    target = session.table(Profile).get(row.followee)
    wait = timedelta(hours=target.accepts_after if target else 0)
    return row.requested and session.now < row.since + wait


def followers(session: Session, username: str) -> int:
    """How many users follow somebody."""
    return sum(not pending(session, row) for row in session.table(Follow).where(followee=username))


def visible(session: Session, post: Post) -> bool:
    """Whether the user can see a post."""
    own = me(session).id
    if post.posted_at > session.now or post.removed:
        return False
    if post.author == own:
        return True
    author = session.table(Profile).get(post.author)
    if author is None or author.suspended or blocks(session, own, author.id) or blocks(session, author.id, own):
        return False
    if post.visibility == "private":
        return False
    open_to_all = post.visibility == "public" and not author.private
    return open_to_all or follows(session, own, author.id)


def post_of(session: Session, post_id: str) -> Post:
    """A post that the user can see, or an error that says why not."""
    hint = "list_social_posts shows the valid ids."
    post = session.table(Post).require(post_id, hint)
    if post.posted_at > session.now:
        raise ToolError(KernelFault.NOT_FOUND, f"There is no post {shown(post_id)}. {hint}")
    if post.removed:
        raise ToolError(Fault.POST_REMOVED, "Moderators removed this post; choose another from list_social_posts.")
    if post.author != me(session).id:
        reachable(session, post.author)
    if not visible(session, post):
        reason = "keeps this post private; choose another from list_social_posts."
        if post.visibility != "private":
            reason = "shows this post only to followers; set_social_follow may open it."
        raise ToolError(Fault.POST_NOT_VISIBLE, f"@{post.author} {reason}")
    return post


def own_post(session: Session, post_id: str) -> Post:
    """A post of the user."""
    post = post_of(session, post_id)
    if post.author != me(session).id:
        raise ToolError(Fault.NOT_YOUR_POST, f"@{post.author} wrote this post; you can only change your own.")
    return post


def comments_on(session: Session, post_id: str) -> list[Comment]:
    """The comments under a post so far, latest first, without those of people blocked on either side."""
    own = me(session).id
    rows = [
        row
        for row in session.table(Comment).where(post_id=post_id)
        if row.at <= session.now and not blocks(session, own, row.author) and not blocks(session, row.author, own)
    ]
    return sorted(rows, key=lambda row: (-row.at.timestamp(), row.id))


def shared_text(original: Post, note: str) -> str:
    """What a repost says: the note, if there is one, above the words of the original."""
    quoted = f"@{original.author}: {original.text}"
    return f"{note} | {quoted}" if note else quoted


def likes(session: Session, post_id: str) -> int:
    """How many users like a post."""
    return len(session.table(Like).where(post_id=post_id))


def poll_on(session: Session, post_id: str) -> Poll | None:
    """The poll of a post, if it has one."""
    return next(iter(session.table(Poll).where(post_id=post_id)), None)


def votes(session: Session, poll: Poll) -> dict[str, int]:
    """How often each option was chosen."""
    rows = session.table(Vote).where(poll_id=poll.id)
    return {option: sum(row.option == option for row in rows) for option in poll.options}


def hashtags(text: str) -> list[str]:
    """The hashtags in a text, in lower case, each once."""
    return list(dict.fromkeys(tag.lower() for tag in _HASHTAG.findall(text)))


def check_text(session: Session, text: str) -> None:
    """Refuse a text that mentions somebody who can't be mentioned, or has too many hashtags."""
    for name in dict.fromkeys(_MENTION.findall(text)):
        if session.table(Profile).get(name) is None:
            raise ToolError(
                Fault.UNKNOWN_MENTION, f"Nobody is called @{name}; list_social_users finds the right user name."
            )
        reachable(session, name)
    if len(hashtags(text)) > MOST_HASHTAGS:
        raise ToolError(Fault.TOO_MANY_HASHTAGS, f"A text may have at most {MOST_HASHTAGS} hashtags; drop some.")


def check_rate(session: Session, moments: list[datetime], most: int, noun: str) -> None:
    """Refuse to do something more often than a number of times in an hour."""
    recent = sorted(moment for moment in moments if session.now - HOUR < moment <= session.now)
    if len(recent) >= most:
        free_at = recent[-most] + HOUR
        raise ToolError(
            Fault.RATE_LIMITED, f"At most {most} {noun} an hour are allowed; try again from {free_at:%H:%M} UTC on."
        )


def check_post_rate(session: Session) -> None:
    """The limit on posts and reposts."""
    rows = session.table(Post).where(author=me(session).id)
    check_rate(session, [row.posted_at for row in rows], POSTS_AN_HOUR, "posts")


def check_comment_rate(session: Session) -> None:
    """The limit on comments."""
    rows = session.table(Comment).where(author=me(session).id)
    check_rate(session, [row.at for row in rows], COMMENTS_AN_HOUR, "comments")


def check_message_rate(session: Session) -> None:
    """The limit on direct messages."""
    rows = session.table(Message).where(sender=me(session).id)
    check_rate(session, [row.at for row in rows], MESSAGES_AN_HOUR, "messages")
