"""Tools that react: like, comment, repost, vote, report, and what others did."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, paginate
from servers.kernel.session import Session
from servers.social_media.model import (
    Comment,
    Fault,
    Like,
    Notice,
    NoticeKind,
    Poll,
    PollId,
    Post,
    PostId,
    Profile,
    Reason,
    Report,
    Vote,
)
from servers.social_media.rules import (
    blocks,
    check_comment_rate,
    check_post_rate,
    check_text,
    comments_on,
    likes,
    me,
    post_of,
    shared_text,
    visible,
    votes,
)
from servers.social_media.server import server
from servers.social_media.views import Commented, NoticeItem, Published, Reaction, Reported, Voted


@server.tool()
def like_social_post(session: Session, post_id: PostId, action: Literal["like", "unlike"] = "like") -> Reaction:
    """Like a post, or take a like back.

    Args:
        post_id: the post, from list_social_posts.
        action: what to do.

    Raises:
        post_removed: moderators removed it.
        post_not_visible: its author does not show it to the user.
        account_suspended: the author's account is suspended.
        you_blocked_them: the user blocked the author.
        they_blocked_you: the author blocked the user.
        already_liked: the user likes it.
        not_liked: there is no like to take back.
    """
    post, own = post_of(session, post_id), me(session).id
    key = f"{post.id}/{own}"
    liked = session.table(Like).get(key) is not None
    if liked and action == "like":
        raise ToolError(Fault.ALREADY_LIKED, f"You like this post of @{post.author} already.")
    if not liked and action == "unlike":
        raise ToolError(Fault.NOT_LIKED, f"You don't like this post of @{post.author}, so there is nothing to undo.")
    if liked:
        session.table(Like).remove(key)
    else:
        session.table(Like).add(Like(key, post.id, own))
    return Reaction(post.id, likes(session, post.id), not liked)


@server.tool()
def comment_on_social_post(
    session: Session, post_id: PostId, text: Annotated[str, Field(min_length=1, max_length=280)]
) -> Commented:
    """Write a comment under a post.

    Args:
        post_id: the post, from list_social_posts.
        text: the comment, with @mentions and #hashtags.

    Raises:
        post_removed: moderators removed it.
        post_not_visible: its author does not show it to the user.
        account_suspended: the author's or a mentioned account is suspended.
        you_blocked_them: the user blocked the author or somebody mentioned.
        they_blocked_you: the author or somebody mentioned blocked the user.
        unknown_mention: a mentioned user does not exist.
        too_many_hashtags: the text has more than four hashtags.
        rate_limited: ten comments were written in the last hour.
    """
    post = post_of(session, post_id)
    check_text(session, text)
    check_comment_rate(session)
    session.table(Comment).add(Comment(session.new_id("SCOM"), post.id, me(session).id, text, session.now))
    return Commented(post.id, text, len(comments_on(session, post.id)))


@server.tool()
def repost_social_post(
    session: Session, post_id: PostId, note: Annotated[str, Field(max_length=140)] = ""
) -> Published:
    """Share somebody's public post with the user's followers, with a note if wished.

    Args:
        post_id: the post, from list_social_posts.
        note: text above the shared post.

    Raises:
        post_removed: moderators removed it.
        post_not_visible: its author does not show it to the user.
        account_suspended: the author's or a mentioned account is suspended.
        you_blocked_them: the user blocked the author or somebody mentioned.
        they_blocked_you: the author or somebody mentioned blocked the user.
        own_post: the user wrote it.
        not_repostable: it is not public, or is a repost itself.
        already_reposted: the user shared it before.
        unknown_mention: the note mentions nobody who exists.
        too_many_hashtags: the note has more than four hashtags.
        rate_limited: five posts were published in the last hour.
    """
    post, own = post_of(session, post_id), me(session).id
    if post.author == own:
        raise ToolError(Fault.OWN_POST, "The user wrote this post; only posts of others can be shared.")
    author = session.table(Profile).get(post.author)
    if post.visibility != "public" or post.repost_of or (author is not None and author.private):
        raise ToolError(Fault.NOT_REPOSTABLE, "Only original posts that everybody can see may be shared.")
    if session.table(Post).where(repost_of=post.id, author=own):
        raise ToolError(Fault.ALREADY_REPOSTED, f"You shared this post of @{post.author} already.")
    check_text(session, note)
    check_post_rate(session)
    text = shared_text(post, note)
    row = Post(session.new_id("SPST"), own, text, "public", session.now, repost_of=post.id)
    session.table(Post).add(row)
    return Published(row.id, row.text, row.visibility)


@server.tool()
def vote_in_social_poll(
    session: Session, poll_id: PollId, option: Annotated[str, Field(min_length=1, max_length=40)]
) -> Voted:
    """Vote in an open poll, once; the result shows the votes of each option.

    Args:
        poll_id: the poll, from list_social_posts; get_social_post shows its options.
        option: the chosen option as the poll words it.

    Raises:
        post_removed: moderators removed the poll's post.
        post_not_visible: its author does not show it to the user.
        account_suspended: the author's account is suspended.
        you_blocked_them: the user blocked the author.
        they_blocked_you: the author blocked the user.
        own_post: the user started the poll.
        poll_closed: the time to vote is over.
        already_voted: the user has voted.
        no_such_option: the poll has no such option.
    """
    poll = session.table(Poll).require(poll_id, "list_social_posts shows the poll_id of posts with a poll.")
    post, own = post_of(session, poll.post_id), me(session).id
    if post.author == own:
        raise ToolError(Fault.OWN_POST, "The user started this poll and can't vote in it.")
    if poll.closes_at <= session.now:
        raise ToolError(
            Fault.POLL_CLOSED,
            f"The poll closed at {poll.closes_at:%Y-%m-%d %H:%M} UTC; get_social_post shows the result.",
        )
    key = f"{poll.id}/{own}"
    vote = session.table(Vote).get(key)
    if vote is not None:
        raise ToolError(Fault.ALREADY_VOTED, f"You voted for {vote.option} already.")
    chosen = next((known for known in poll.options if known.casefold() == option.strip().casefold()), None)
    if chosen is None:
        raise ToolError(Fault.NO_SUCH_OPTION, f"The options are: {', '.join(poll.options)}.")
    session.table(Vote).add(Vote(key, poll.id, own, chosen))
    return Voted(poll.id, chosen, votes(session, poll))


@server.tool()
def report_social_post(session: Session, post_id: PostId, reason: Reason) -> Reported:
    """Report somebody's post to the moderators.

    Args:
        post_id: the post, from list_social_posts.
        reason: what is wrong with it.

    Raises:
        post_removed: moderators removed it already.
        post_not_visible: its author does not show it to the user.
        account_suspended: the author's account is suspended.
        you_blocked_them: the user blocked the author.
        they_blocked_you: the author blocked the user.
        own_post: the user wrote it.
        already_reported: the user reported it before.
    """
    post, own = post_of(session, post_id), me(session).id
    if post.author == own:
        raise ToolError(Fault.OWN_POST, "The user wrote this post; only posts of others can be reported.")
    earlier = session.table(Report).get(f"{post.id}/{own}")
    if earlier is not None:
        raise ToolError(Fault.ALREADY_REPORTED, f"You reported this post for {earlier.reason} already.")
    session.table(Report).add(Report(f"{post.id}/{own}", post.id, reason, session.now))
    return Reported(post.id, reason)


@server.tool(read_only=True)
def list_social_notifications(
    session: Session, kind: NoticeKind | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[NoticeItem]:
    """List what concerns the user, newest first: mentions, likes, comments, followers, closed polls.

    Args:
        kind: only notifications of this kind.
        limit: most notifications to return.
        offset: how many to skip.
    """
    rows = [row for row in session.table(Notice).all() if row.at <= session.now] + _closed_polls(session)
    rows = [row for row in rows if kind in (None, row.kind) and _relevant(session, row)]
    rows.sort(key=lambda row: (-row.at.timestamp(), row.id))
    return paginate([NoticeItem(row.kind, row.by, row.at, row.post_id or None) for row in rows], limit, offset)


def _closed_polls(session: Session) -> list[Notice]:
    """Notices that polls in which the user voted, or which they started, have closed."""
    own, found = me(session).id, []
    for poll in session.table(Poll).all():
        post = session.table(Post).get(poll.post_id)
        voted = session.table(Vote).get(f"{poll.id}/{own}") is not None
        if post is not None and poll.closes_at <= session.now and (voted or post.author == own):
            found.append(Notice(poll.id, "poll_closed", post.author, post.id, poll.closes_at))
    return found


def _relevant(session: Session, row: Notice) -> bool:
    post = session.table(Post).get(row.post_id) if row.post_id else None
    hidden = post is not None and not visible(session, post)
    return not hidden and not blocks(session, me(session).id, row.by)
