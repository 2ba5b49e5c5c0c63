"""The social network: each of its error codes is reached; visibility, follows and polls keep their rules."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from servers.kernel.session import EPOCH
from servers.social_media.model import Comment, Fault, Follow, Like, Poll, Post, Profile, UserBlock, Vote
from tests.servers.play import Play


def me(play: Play) -> str:
    return next(str(p.id) for p in play.rows(Profile) if p.me)


def person(play: Play, **columns: object) -> str:
    """An active user without ties of blocking to the user."""
    tied = {b.blocked for b in play.rows(UserBlock)} | {b.blocker for b in play.rows(UserBlock)}
    wanted = {"suspended": False, "me": False, "private": False, **columns}
    return next(
        str(p.id) for p in play.rows(Profile) if p.id not in tied and all(getattr(p, k) == v for k, v in wanted.items())
    )


def stranger(play: Play, private: bool = False) -> str:
    known = {f.followee for f in play.rows(Follow) if f.follower == me(play)} | {
        b.blocked for b in play.rows(UserBlock)
    }
    known |= {b.blocker for b in play.rows(UserBlock)}
    return next(
        str(p.id)
        for p in play.rows(Profile)
        if p.private == private and not p.suspended and not p.me and p.id not in known
    )


def blocked(play: Play) -> str:
    return next(str(b.blocked) for b in play.rows(UserBlock) if b.blocker == me(play))


def blocker(play: Play) -> str:
    return next(str(b.blocker) for b in play.rows(UserBlock) if b.blocked == me(play))


def suspended(play: Play) -> str:
    return next(str(p.id) for p in play.rows(Profile) if p.suspended)


def listed(play: Play, **arguments: object) -> list[dict[str, object]]:
    items: list[dict[str, object]] = play.ok("list_social_posts", limit=50, **arguments)["items"]
    return items


def foreign(play: Play) -> Post:
    """A public post that the user sees and has not reacted to."""
    posts = {p.id: p for p in play.rows(Post)}
    private = {p.id for p in play.rows(Profile) if p.private}
    liked = {row.post_id for row in play.rows(Like) if row.user == me(play)}
    return next(
        posts[item["id"]]
        for item in listed(play)
        if item["author"] not in {me(play), *private}
        and item["id"] not in liked
        and posts[item["id"]].visibility == "public"
    )


def publish(play: Play, **changes: object) -> str:
    return str(play.ok("publish_social_post", **{"text": "Hello there", **changes})["id"])


def poll(play: Play, closed: bool = False, voted: bool = False, own: bool = False) -> Poll:
    posts = {p.id: p for p in play.rows(Post)}
    mine = {v.poll_id for v in play.rows(Vote) if v.user == me(play)}
    seen = {item["id"] for item in listed(play)}
    return next(
        row
        for row in play.rows(Poll)
        if row.post_id in seen
        and (row.closes_at <= play.session.now) == closed
        and (row.id in mine) == voted
        and (posts[row.post_id].author == me(play)) == own
    )


def post_not_visible(play: Play) -> None:
    out = {p.id for p in play.rows(Profile) if p.suspended or p.me}
    out |= {name for b in play.rows(UserBlock) if me(play) in (b.blocker, b.blocked) for name in (b.blocker, b.blocked)}
    hidden = next(
        p
        for p in play.rows(Post)
        if p.visibility == "private" and p.author not in out and p.posted_at < EPOCH and not p.removed
    )
    assert "follow" not in play.fails("post_not_visible", "get_social_post", post_id=hidden.id)


def profile_private(play: Play) -> None:
    message = play.fails("profile_private", "list_social_posts", author=stranger(play, private=True))
    assert "set_social_follow" in message


def post_removed(play: Play) -> None:
    gone = next(p for p in play.rows(Post) if p.removed and p.posted_at < EPOCH)
    play.fails("post_removed", "like_social_post", post_id=gone.id)


def account_suspended(play: Play) -> None:
    play.fails("account_suspended", "set_social_follow", username=suspended(play))


def you_blocked_them(play: Play) -> None:
    play.fails("you_blocked_them", "send_social_message", username=blocked(play), text="Hello")
    play.ok("set_social_block", username=blocked(play), action="unblock")


def they_blocked_you(play: Play) -> None:
    name = blocker(play)
    play.fails("they_blocked_you", "set_social_follow", username=name)
    play.fails("they_blocked_you", "publish_social_post", text=f"Hello @{name}")


def own_profile(play: Play) -> None:
    for tool in ("set_social_follow", "set_social_block"):
        play.fails("own_profile", tool, username=me(play))
    play.fails("own_profile", "send_social_message", username=me(play), text="Note to self")


def own_post(play: Play) -> None:
    mine = publish(play)
    play.fails("own_post", "repost_social_post", post_id=mine)
    play.fails("own_post", "report_social_post", post_id=mine, reason="spam")
    play.fails("own_post", "vote_in_social_poll", poll_id=poll(play, own=True).id, option="Yes")


def not_your_post(play: Play) -> None:
    play.fails("not_your_post", "edit_social_post", post_id=foreign(play).id, text="Mine now")


def edit_window_over(play: Play) -> None:
    mine = publish(play)
    play.ok("edit_social_post", post_id=mine, text="Hello again")
    assert play.ok("get_social_post", post_id=mine)["edited"]
    play.wait(hours=2, minutes=5)
    play.fails("edit_window_over", "edit_social_post", post_id=mine, text="Too late")


def poll_has_votes(play: Play) -> None:
    mine = publish(play, poll_options=["Tea", "Coffee"])
    play.ok("edit_social_post", post_id=mine, text="Tea or coffee?")
    voted = next(
        p.post_id
        for p in play.rows(Poll)
        for post in play.rows(Post)
        if post.id == p.post_id
        and post.author == me(play)
        and EPOCH - post.posted_at < timedelta(hours=2)
        and p.post_id != mine
    )
    play.fails("poll_has_votes", "edit_social_post", post_id=voted, text="Something else?")


def rate_limited(play: Play) -> None:
    play.wait(hours=1)
    for n in range(5):
        publish(play, text=f"Post {n}")
    message = play.fails("rate_limited", "publish_social_post", text="One more")
    assert "UTC" in message
    play.wait(hours=1)
    publish(play, text="One more")


def unknown_mention(play: Play) -> None:
    play.fails("unknown_mention", "comment_on_social_post", post_id=foreign(play).id, text="Ask @nobody_at_all")


def too_many_hashtags(play: Play) -> None:
    play.fails("too_many_hashtags", "publish_social_post", text="#one #two #three #four #five")


def poll_options_repeat(play: Play) -> None:
    play.fails("poll_options_repeat", "publish_social_post", text="Which?", poll_options=["Tea", " tea"])


def already_liked(play: Play) -> None:
    target = foreign(play).id
    play.ok("like_social_post", post_id=target)
    play.fails("already_liked", "like_social_post", post_id=target)


def not_liked(play: Play) -> None:
    play.fails("not_liked", "like_social_post", post_id=foreign(play).id, action="unlike")


def already_reposted(play: Play) -> None:
    target = foreign(play).id
    play.ok("repost_social_post", post_id=target, note="Look")
    play.fails("already_reposted", "repost_social_post", post_id=target)


def not_repostable(play: Play) -> None:
    private = {p.id for p in play.rows(Profile) if p.private}
    target = next(item for item in listed(play, source="following") if item["author"] in private)
    play.fails("not_repostable", "repost_social_post", post_id=target["id"])


def already_following(play: Play) -> None:
    name = stranger(play)
    assert play.ok("set_social_follow", username=name)["relation"] == "following"
    play.fails("already_following", "set_social_follow", username=name)


def follow_request_pending(play: Play) -> None:
    name = stranger(play, private=True)
    assert play.ok("set_social_follow", username=name)["relation"] == "requested"
    play.fails("follow_request_pending", "set_social_follow", username=name)
    play.wait(hours=31)
    play.fails("already_following", "set_social_follow", username=name)


def not_following(play: Play) -> None:
    play.fails("not_following", "set_social_follow", username=stranger(play), action="unfollow")


def user_already_blocked(play: Play) -> None:
    play.fails("user_already_blocked", "set_social_block", username=blocked(play))


def user_not_blocked(play: Play) -> None:
    play.fails("user_not_blocked", "set_social_block", username=stranger(play), action="unblock")


def messages_not_allowed(play: Play) -> None:
    name = person(play, messages="nobody")
    play.fails("messages_not_allowed", "send_social_message", username=name, text="Hello")


def poll_closed(play: Play) -> None:
    play.fails("poll_closed", "vote_in_social_poll", poll_id=poll(play, closed=True).id, option="Yes")


def already_voted(play: Play) -> None:
    row = poll(play)
    result = play.ok("vote_in_social_poll", poll_id=row.id, option=row.options[0].upper())
    assert sum(result["votes"].values()) == sum(v.poll_id == row.id for v in play.rows(Vote))
    assert list(result["votes"]) == list(row.options)
    play.fails("already_voted", "vote_in_social_poll", poll_id=row.id, option=row.options[1])


def no_such_option(play: Play) -> None:
    assert "Yes" in play.fails("no_such_option", "vote_in_social_poll", poll_id=poll(play).id, option="Perhaps")


def already_reported(play: Play) -> None:
    target = foreign(play).id
    play.ok("report_social_post", post_id=target, reason="spam")
    play.fails("already_reported", "report_social_post", post_id=target, reason="violence")


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", list(Fault))
def test_fault(fault: str) -> None:
    FAULTS[fault](Play("social_media"))


def test_a_block_hides_posts_and_ends_following_on_both_sides() -> None:
    play = Play("social_media")
    author = foreign(play).author
    play.ok("set_social_block", username=author)
    assert author not in {item["author"] for item in listed(play)}
    assert not any({f.follower, f.followee} == {author, me(play)} for f in play.rows(Follow))
    play.ok("set_social_block", username=author, action="unblock")
    assert author in {item["author"] for item in listed(play, author=author)}
    assert author not in {item["author"] for item in listed(play, source="following")}


def test_an_accepted_request_opens_a_private_profile() -> None:
    play = Play("social_media")
    name = stranger(play, private=True)
    play.fails("profile_private", "list_social_posts", author=name)
    play.ok("set_social_follow", username=name)
    play.fails("profile_private", "list_social_posts", author=name)
    play.wait(hours=31)
    assert listed(play, author=name)


def test_posts_appear_in_their_time_and_are_seen_by_nobody_before() -> None:
    play = Play("social_media")
    followed = {f.followee for f in play.rows(Follow) if f.follower == me(play) and not f.requested}
    coming = min(
        (p for p in play.rows(Post) if p.posted_at > EPOCH and p.author in followed and p.visibility == "public"),
        key=lambda p: p.posted_at,
    )
    play.fails("not_found", "get_social_post", post_id=coming.id)
    play.wait(minutes=(coming.posted_at - EPOCH) / timedelta(minutes=1))
    assert coming.id in {item["id"] for item in listed(play, source="following")}


def test_votes_are_hidden_until_the_user_votes_and_the_end_is_announced() -> None:
    play = Play("social_media")
    row = poll(play)
    assert "votes" not in play.ok("get_social_post", post_id=row.post_id)["poll"]
    play.ok("vote_in_social_poll", poll_id=row.id, option=row.options[0])
    assert sum(play.ok("get_social_post", post_id=row.post_id)["poll"]["votes"]) >= 1
    notices = {"kind": "poll_closed", "limit": 50}
    assert row.post_id not in {n["post_id"] for n in play.ok("list_social_notifications", **notices)["items"]}
    play.wait(minutes=(row.closes_at - play.session.now) / timedelta(minutes=1) + 1)
    assert row.post_id in {n["post_id"] for n in play.ok("list_social_notifications", **notices)["items"]}


def test_hashtags_trend_and_find_their_posts() -> None:
    play = Play("social_media")
    publish(play, text="Up early #Zucchini")
    trends = play.ok("list_trending_hashtags", query="zucchini")["items"]
    assert trends == [{"hashtag": "zucchini", "posts": 1}]
    assert [item["text"] for item in listed(play, hashtag="#zucchini")] == ["Up early #Zucchini"]


def test_comments_of_blocked_users_are_neither_shown_nor_counted() -> None:
    play = Play("social_media")
    authors = {str(item["id"]): item["author"] for item in listed(play)}
    row = next(c for c in play.rows(Comment) if authors.get(c.post_id, c.author) != c.author)

    def writers() -> list[str]:
        return [str(c["author"]) for c in play.ok("get_social_post", post_id=row.post_id).get("comments", [])]

    assert row.author in writers()
    play.ok("set_social_block", username=row.author)
    assert row.author not in writers()
    shown = len(writers())
    assert play.ok("comment_on_social_post", post_id=row.post_id, text="Hello")["comments"] == shown + 1


def test_the_words_of_a_shared_post_stay_when_the_note_changes() -> None:
    play = Play("social_media")
    original = foreign(play)
    shared = play.ok("repost_social_post", post_id=original.id, note="Look")["id"]
    edited = play.ok("edit_social_post", post_id=shared, text="Read this")["text"]
    assert edited == f"Read this | @{original.author}: {original.text}"
