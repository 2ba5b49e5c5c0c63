"""Tools for posts: read, search, trends, write, edit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.social_media.model import Fault, Hashtag, Poll, Post, PostId, UserName, Visibility
from servers.social_media.rules import (
    EDIT_WINDOW,
    TREND_WINDOW,
    check_post_rate,
    check_text,
    follows,
    hashtags,
    me,
    open_profile,
    own_post,
    poll_on,
    post_of,
    shared_text,
    visible,
    votes,
)
from servers.social_media.server import server
from servers.social_media.views import PostDetails, PostItem, Published, Trend, post_details, post_item

PostText = Annotated[str, Field(min_length=1, max_length=280)]
PollOptions = Annotated[list[Annotated[str, Field(min_length=1, max_length=40)]], Field(min_length=2, max_length=4)]


@server.tool(read_only=True)
def list_social_posts(
    session: Session,
    query: Query = "",
    source: Literal["following", "everyone", "mine"] = "everyone",
    author: UserName | None = None,
    hashtag: Hashtag | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[PostItem]:
    """Show the feed or search posts that the user can see, newest first.

    Args:
        query: words of the text or of the author's user name.
        source: following for the user's feed, mine for their own posts.
        author: only posts of this user.
        hashtag: only posts with this hashtag, as in list_trending_hashtags.
        limit: most posts to return.
        offset: how many to skip.

    Raises:
        account_suspended: the author's account is suspended.
        you_blocked_them: the user blocked the author.
        they_blocked_you: the author blocked the user.
        profile_private: the author's profile is private and the user does not follow them.
    """
    own = me(session).id
    writer = open_profile(session, author).id if author is not None else None
    tag = hashtag.lower().removeprefix("#") if hashtag is not None else None
    rows = [row for row in session.table(Post).all() if writer in (None, row.author) and visible(session, row)]
    if source == "mine":
        rows = [row for row in rows if row.author == own]
    elif source == "following":
        rows = [row for row in rows if follows(session, own, row.author)]
    rows = [row for row in rows if tag is None or tag in hashtags(row.text)]
    rows = search(rows, query, lambda row: f"{row.author} {row.text}")
    rows.sort(key=lambda row: (-row.posted_at.timestamp(), row.id))
    return paginate([post_item(session, row) for row in rows], limit, offset)


@server.tool(read_only=True)
def get_social_post(session: Session, post_id: PostId) -> PostDetails:
    """Show one post with likes, latest comments and its poll.

    Args:
        post_id: the post, from list_social_posts.

    Raises:
        post_removed: moderators removed it.
        post_not_visible: its author does not show it to the user.
        account_suspended: the author's account is suspended.
        you_blocked_them: the user blocked the author.
        they_blocked_you: the author blocked the user.
    """
    return post_details(session, post_of(session, post_id))


@server.tool(read_only=True)
def list_trending_hashtags(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[Trend]:
    """List the hashtags used most in the last seven days, most used first, then by name.

    Args:
        query: part of the hashtag.
        limit: most hashtags to return.
        offset: how many to skip.
    """
    recent = [row for row in session.table(Post).all() if row.posted_at > session.now - TREND_WINDOW]
    counts = Counter(tag for row in recent if visible(session, row) for tag in hashtags(row.text))
    items = search([Trend(tag, number) for tag, number in counts.items()], query.replace("#", ""), lambda t: t.hashtag)
    return paginate(sorted(items, key=lambda item: (-item.posts, item.hashtag)), limit, offset)


@server.tool()
def publish_social_post(
    session: Session,
    text: PostText,
    visibility: Visibility = "public",
    poll_options: PollOptions | None = None,
    poll_hours: Annotated[int, Field(ge=1, le=168)] = 24,
) -> Published:
    """Publish a post, with a poll if options are given. The text may be edited for two hours.

    Args:
        text: the text, with @mentions and #hashtags.
        visibility: who sees it.
        poll_options: two to four answers to vote on.
        poll_hours: how long the poll is open.

    Raises:
        unknown_mention: a mentioned user does not exist.
        account_suspended: a mentioned account is suspended.
        you_blocked_them: the user blocked somebody whom the text mentions.
        they_blocked_you: somebody whom the text mentions blocked the user.
        too_many_hashtags: the text has more than four hashtags.
        poll_options_repeat: two options are the same.
        rate_limited: five posts were published in the last hour.
    """
    check_text(session, text)
    if poll_options and len({option.strip().casefold() for option in poll_options}) < len(poll_options):
        raise ToolError(Fault.POLL_OPTIONS_REPEAT, "Two poll options are the same; make each one different.")
    check_post_rate(session)
    post = Post(session.new_id("SPST"), me(session).id, text, visibility, session.now)
    session.table(Post).add(post)
    poll: Poll | None = None
    if poll_options:
        closes_at = session.now + timedelta(hours=poll_hours)
        poll = session.table(Poll).add(Poll(session.new_id("SPOL"), post.id, tuple(poll_options), closes_at))
    return Published(post.id, text, visibility, poll.id if poll else None)


@server.tool()
def edit_social_post(session: Session, post_id: PostId, text: PostText) -> Published:
    """Change the text of the user's own post within two hours of publishing it.

    Args:
        post_id: the post, from list_social_posts with source mine.
        text: the whole new text; for a repost only the note above the shared words, which stay.

    Raises:
        post_removed: moderators removed it.
        post_not_visible: its author does not show it to the user.
        not_your_post: somebody else wrote it.
        edit_window_over: it is older than two hours.
        poll_has_votes: somebody has voted in its poll.
        unknown_mention: a mentioned user does not exist.
        account_suspended: a mentioned account is suspended.
        you_blocked_them: the user blocked somebody whom the text mentions.
        they_blocked_you: somebody whom the text mentions blocked the user.
        too_many_hashtags: the text has more than four hashtags.
    """
    post = own_post(session, post_id)
    if session.now - post.posted_at > EDIT_WINDOW:
        raise ToolError(
            Fault.EDIT_WINDOW_OVER,
            f"It could be edited until {post.posted_at + EDIT_WINDOW:%Y-%m-%d %H:%M} UTC; add a comment instead.",
        )
    poll = poll_on(session, post.id)
    if poll is not None and any(votes(session, poll).values()):
        raise ToolError(
            Fault.POLL_HAS_VOTES, "People have voted in its poll, so the text stays; add a comment instead."
        )
    check_text(session, text)
    original = session.table(Post).get(post.repost_of) if post.repost_of else None
    changed = replace(post, text=shared_text(original, text) if original else text, edited=True)
    session.table(Post).put(changed)
    return Published(post.id, changed.text, post.visibility, poll.id if poll else None)
