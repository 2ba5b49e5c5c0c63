"""Tools for users: find, follow, block, write to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.social_media.model import Fault, Follow, Message, Profile, UserBlock, UserName
from servers.social_media.rules import blocks, check_message_rate, follows, me, pending, reachable, user_of
from servers.social_media.server import server
from servers.social_media.views import SentMessage, UserItem, user_item


@server.tool(read_only=True)
def list_social_users(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[UserItem]:
    """Find users by name, user name or profile text. Ordered by name.

    Use it first when somebody is mentioned by their real name.

    Args:
        query: words of the name, the user name or the profile text.
        limit: most users to return.
        offset: how many to skip.
    """
    rows = search(session.table(Profile).all(), query, lambda row: f"{row.name} {row.id} {row.bio}")
    rows = [row for row in rows if not row.suspended]
    rows.sort(key=lambda row: (row.name, row.id))
    return paginate([user_item(session, row) for row in rows], limit, offset)


@server.tool()
def set_social_follow(
    session: Session, username: UserName, action: Literal["follow", "unfollow"] = "follow"
) -> UserItem:
    """Follow or unfollow a user; a private user must accept the request first.

    Args:
        username: the user, from list_social_users.
        action: what to do.

    Raises:
        own_profile: it is the user's own profile.
        account_suspended: the account is suspended.
        you_blocked_them: the user blocked them.
        they_blocked_you: they blocked the user.
        already_following: the user follows them.
        follow_request_pending: they have not accepted yet.
        not_following: there is nothing to undo.
    """
    own = me(session).id
    other = user_of(session, username)
    if other.id == own:
        raise ToolError(Fault.OWN_PROFILE, "That is the user's own profile; choose somebody else.")
    key = f"{own}>{other.id}"
    row = session.table(Follow).get(key)
    if action == "unfollow":
        if row is None:
            raise ToolError(Fault.NOT_FOLLOWING, f"You don't follow @{other.id}, so there is nothing to undo.")
        session.table(Follow).remove(key)
        return user_item(session, other)
    reachable(session, other.id)
    if row is not None and pending(session, row):
        raise ToolError(
            Fault.REQUEST_PENDING, f"@{other.id} has not accepted your request of {row.since:%Y-%m-%d %H:%M} UTC yet."
        )
    if row is not None:
        raise ToolError(Fault.ALREADY_FOLLOWING, f"You follow @{other.id} already.")
    session.table(Follow).add(Follow(key, own, other.id, session.now, other.private))
    return user_item(session, other)


@server.tool()
def set_social_block(session: Session, username: UserName, action: Literal["block", "unblock"] = "block") -> UserItem:
    """Block a user, which also ends following on both sides, or unblock them.

    Args:
        username: the user, from list_social_users.
        action: what to do.

    Raises:
        own_profile: it is the user's own profile.
        user_already_blocked: they are blocked.
        user_not_blocked: they are not blocked.
    """
    own = me(session).id
    other = user_of(session, username)
    if other.id == own:
        raise ToolError(Fault.OWN_PROFILE, "That is the user's own profile; choose somebody else.")
    blocked = blocks(session, own, other.id)
    if blocked and action == "block":
        raise ToolError(Fault.ALREADY_BLOCKED, f"@{other.id} is blocked already.")
    if not blocked and action == "unblock":
        raise ToolError(Fault.NOT_BLOCKED, f"@{other.id} is not blocked; list_social_users shows who is.")
    key = f"{own}>{other.id}"
    if blocked:
        session.table(UserBlock).remove(key)
    else:
        session.table(UserBlock).add(UserBlock(key, own, other.id, session.now))
        session.table(Follow).remove(key)
        session.table(Follow).remove(f"{other.id}>{own}")
    return user_item(session, other)


@server.tool()
def send_social_message(
    session: Session, username: UserName, text: Annotated[str, Field(min_length=1, max_length=500)]
) -> SentMessage:
    """Send a direct message to a user who allows it.

    Args:
        username: the user, from list_social_users.
        text: the message.

    Raises:
        own_profile: it is the user's own profile.
        account_suspended: the account is suspended.
        you_blocked_them: the user blocked them.
        they_blocked_you: they blocked the user.
        messages_not_allowed: they take no messages from the user.
        rate_limited: ten messages left in the last hour.
    """
    own = me(session).id
    other = reachable(session, username)
    if other.id == own:
        raise ToolError(Fault.OWN_PROFILE, "That is the user's own profile; choose somebody else.")
    if other.messages == "nobody":
        raise ToolError(Fault.MESSAGES_NOT_ALLOWED, f"@{other.id} takes no messages; comment on a post instead.")
    if other.messages == "followed" and not follows(session, other.id, own):
        raise ToolError(
            Fault.MESSAGES_NOT_ALLOWED,
            f"@{other.id} takes messages only from people they follow; comment on a post instead.",
        )
    check_message_rate(session)
    row = session.table(Message).add(Message(session.new_id("SMSG"), own, other.id, text, session.now))
    return SentMessage(row.recipient, row.text, row.at)
