"""The team chat: each of its error codes is reached, and what is written can be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.team_chat.model import Channel, Fault, Membership, Message, Person, Reaction
from servers.team_chat.seed import CHANNEL_LIMIT
from tests.servers.play import Play


def some(play: Play, kind: type, **wanted: Any) -> Any:
    return next(row for row in play.rows(kind) if all(getattr(row, name) == value for name, value in wanted.items()))


def arrange(play: Play, row: Record) -> None:
    """Bring a row into a state that only time or other people would."""
    play.session.table(type(row)).put(row)
    play.session.commit("arrange", {})


def channel(play: Play, name: str) -> Channel:
    found = some(play, Channel, name=name)
    assert isinstance(found, Channel)
    return found


def me(play: Play) -> Person:
    found = some(play, Person, you=True)
    assert isinstance(found, Person)
    return found


def members(play: Play, name: str) -> set[str]:
    key = channel(play, name).id
    return {row.person for row in play.rows(Membership) if row.channel_id == key}


def outsider(play: Play, name: str, role: str = "member") -> Person:
    inside = members(play, name)
    found = next(row for row in play.rows(Person) if row.role == role and row.id not in inside)
    arrange(play, replace(found, presence="available", presence_until=None))
    return found


def message(play: Play, name: str, own: bool = False, **wanted: Any) -> Message:
    """The newest message of a channel."""
    key, user = channel(play, name).id, me(play).id
    rows = [row for row in play.rows(Message) if row.channel_id == key and (row.author == user) == own]
    rows = [row for row in rows if all(getattr(row, column) == value for column, value in wanted.items())]
    return max(rows, key=lambda row: row.sent_at)


def post(play: Play, name: str, text: str = "Hello all") -> dict[str, Any]:
    return {"channel_id": channel(play, name).id, "text": text}


def not_a_member(play: Play) -> None:
    play.fails("not_a_member", "post_chat_message", **post(play, "data-club"))
    assert play.ok("list_chat_messages", channel_id=channel(play, "data-club").id)["total"] > 0
    play.ok("add_channel_member", channel_id=channel(play, "data-club").id, person=me(play).id)
    play.ok("post_chat_message", **post(play, "data-club"))


def channel_archived(play: Play) -> None:
    play.fails("channel_archived", "post_chat_message", **post(play, "old-website"))
    arguments = {"channel_id": channel(play, "old-website").id, "person": outsider(play, "old-website").id}
    play.fails("channel_archived", "add_channel_member", **arguments)


def channel_private(play: Play) -> None:
    key = channel(play, "board").id
    play.fails("channel_private", "list_chat_messages", channel_id=key)
    play.fails("channel_private", "add_channel_member", channel_id=key, person=me(play).id)
    play.fails("channel_private", "post_chat_message", channel_id=key, text="Hello")
    about = {"message_id": message(play, "board").id}
    play.fails("channel_private", "reply_in_chat_thread", **about, text="Hello")
    play.fails("channel_private", "edit_chat_message", **about, text="Hello")
    play.fails("channel_private", "react_to_chat_message", **about, emoji="eyes")
    play.fails("channel_private", "pin_chat_message", **about, action="pin")
    assert "board" not in {row["name"] for row in play.ok("list_chat_channels", limit=50)["items"]}


def channel_full(play: Play) -> None:
    assert len(members(play, "random")) == CHANNEL_LIMIT
    arguments = {"channel_id": channel(play, "random").id, "person": outsider(play, "random").id}
    play.fails("channel_full", "add_channel_member", **arguments)


def direct_channel(play: Play) -> None:
    key = play.ok("list_chat_channels", kind="direct")["items"][0]["id"]
    play.fails("direct_channel", "post_chat_message", channel_id=key, text="Hello")
    play.fails("direct_channel", "add_channel_member", channel_id=key, person=me(play).id)


def posting_restricted(play: Play) -> None:
    play.fails("posting_restricted", "post_chat_message", **post(play, "announcements"))
    arrange(play, replace(me(play), role="admin"))
    play.ok("post_chat_message", **post(play, "announcements"))


def slow_mode(play: Play) -> None:
    newest = message(play, "help-desk", own=True)
    arrange(play, replace(newest, sent_at=EPOCH - timedelta(seconds=30)))
    assert "09:10 UTC" in play.fails("slow_mode", "post_chat_message", **post(play, "help-desk"))
    play.wait(minutes=10)
    play.ok("post_chat_message", **post(play, "help-desk"))
    play.fails("slow_mode", "post_chat_message", **post(play, "help-desk", "And another"))


def duplicate_message(play: Play) -> None:
    play.ok("post_chat_message", **post(play, "lunch"))
    play.fails("duplicate_message", "post_chat_message", **post(play, "lunch"))
    other = play.ok("post_chat_message", **post(play, "lunch", "Hello you"))["message_id"]
    play.fails("duplicate_message", "edit_chat_message", message_id=other, text="Hello all")
    play.wait(hours=1)
    play.ok("post_chat_message", **post(play, "lunch"))


def unknown_mention(play: Play) -> None:
    person = outsider(play, "lunch").id
    play.fails("unknown_mention", "post_chat_message", **post(play, "lunch", f"What do you say, @{person}?"))
    own = message(play, "lunch", own=True).id
    play.fails("unknown_mention", "edit_chat_message", message_id=own, text=f"And you, @{person}?")
    play.ok("add_channel_member", channel_id=channel(play, "lunch").id, person=person)
    play.ok("post_chat_message", **post(play, "lunch", f"What do you say, @{person}?"))
    assert play.ok("list_chat_messages", query=f"@{person}")["total"] == 1


def mass_mention_not_allowed(play: Play) -> None:
    play.fails("mass_mention_not_allowed", "post_chat_message", **post(play, "random", "@channel cake!"))
    own = message(play, "random", own=True).id
    play.fails("mass_mention_not_allowed", "edit_chat_message", message_id=own, text="@channel cake!")
    play.ok("post_chat_message", **post(play, "lunch", "@here cake!"))


def thread_closed(play: Play) -> None:
    row = message(play, "lunch", thread_of=None)
    play.ok("reply_in_chat_thread", message_id=row.id, text="On my way")
    play.wait(days=15)
    play.fails("thread_closed", "reply_in_chat_thread", message_id=row.id, text="Still on my way")


def not_the_author(play: Play) -> None:
    play.fails("not_the_author", "edit_chat_message", message_id=message(play, "lunch").id, text="No")


def edit_window_closed(play: Play) -> None:
    row = message(play, "lunch", own=True)
    play.ok("edit_chat_message", message_id=row.id, text="Better now")
    play.wait(minutes=15)
    play.fails("edit_window_closed", "edit_chat_message", message_id=row.id, text="Even better")


def text_unchanged(play: Play) -> None:
    row = message(play, "lunch", own=True)
    play.fails("text_unchanged", "edit_chat_message", message_id=row.id, text=row.text)


def already_reacted(play: Play) -> None:
    arguments = {"message_id": message(play, "lunch").id, "emoji": "tada"}
    play.ok("react_to_chat_message", **arguments)
    play.fails("already_reacted", "react_to_chat_message", **arguments)


def reaction_limit_reached(play: Play) -> None:
    key = message(play, "lunch").id
    for emoji in ("tada", "eyes", "heart"):
        play.ok("react_to_chat_message", message_id=key, emoji=emoji)
    play.fails("reaction_limit_reached", "react_to_chat_message", message_id=key, emoji="laughing")


def already_pinned(play: Play) -> None:
    row = message(play, "design-review", pinned=True)
    play.fails("already_pinned", "pin_chat_message", message_id=row.id, action="pin")


def not_pinned(play: Play) -> None:
    row = message(play, "design-review", pinned=False)
    play.fails("not_pinned", "pin_chat_message", message_id=row.id, action="unpin")


def pin_limit_reached(play: Play) -> None:
    free = {"message_id": message(play, "design-review", pinned=False).id, "action": "pin"}
    play.fails("pin_limit_reached", "pin_chat_message", **free)
    pinned = message(play, "design-review", pinned=True)
    assert play.ok("pin_chat_message", message_id=pinned.id, action="unpin")["pins_in_channel"] == 4
    assert play.ok("pin_chat_message", **free)["pins_in_channel"] == 5


def already_member(play: Play) -> None:
    play.fails("already_member", "add_channel_member", channel_id=channel(play, "lunch").id, person=me(play).id)


def person_deactivated(play: Play) -> None:
    gone = some(play, Person, role="deactivated").id
    play.fails("person_deactivated", "send_direct_message", person=gone, text="Hello")
    play.fails("person_deactivated", "add_channel_member", channel_id=channel(play, "lunch").id, person=gone)
    person = outsider(play, "lunch")
    sent = play.ok("send_direct_message", person=person.id, text="Hello")["message_id"]
    arrange(play, replace(person, role="deactivated"))
    play.fails("person_deactivated", "reply_in_chat_thread", message_id=sent, text="Still there?")


def guest_restricted(play: Play) -> None:
    placed = {row.person for row in play.rows(Membership)}
    guests = [row.id for row in play.rows(Person) if row.role == "guest"]
    busy, free = (next(name for name in guests if (name in placed) == wanted) for wanted in (True, False))
    lunch = channel(play, "lunch").id
    play.fails("guest_restricted", "add_channel_member", channel_id=lunch, person=busy)
    arrange(play, replace(some(play, Person, id=free), presence="available", presence_until=None))
    play.fails("guest_restricted", "send_direct_message", person=free, text="Welcome")
    play.ok("add_channel_member", channel_id=lunch, person=free)
    play.ok("send_direct_message", person=free, text="Welcome")


def self_message(play: Play) -> None:
    play.fails("self_message", "send_direct_message", person=me(play).id, text="Note to self")


def do_not_disturb(play: Play) -> None:
    person = outsider(play, "lunch")
    until = play.session.now + timedelta(hours=2)
    arrange(play, replace(person, presence="do_not_disturb", presence_until=until))
    play.fails("do_not_disturb", "send_direct_message", person=person.id, text="Hello")
    play.wait(hours=2)
    assert play.ok("list_chat_people", query=person.name)["items"][0]["presence"] == "available"
    sent = play.ok("send_direct_message", person=person.id, text="Hello")["message_id"]
    until = play.session.now + timedelta(hours=2)
    arrange(play, replace(person, presence="do_not_disturb", presence_until=until))
    play.fails("do_not_disturb", "reply_in_chat_thread", message_id=sent, text="Still there?")
    play.wait(hours=2)
    play.ok("reply_in_chat_thread", message_id=sent, text="Still there?")


def until_required(play: Play) -> None:
    play.fails("until_required", "set_chat_presence", presence="busy")


def until_not_allowed(play: Play) -> None:
    for presence, until in (
        ("available", "2026-03-02T12:00:00Z"),
        ("busy", "2026-03-02T08:00:00Z"),
        ("do_not_disturb", "2026-03-04T09:00:00Z"),
    ):
        play.fails("until_not_allowed", "set_chat_presence", presence=presence, until=until)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("team_chat"))


@pytest.mark.parametrize("seed", range(4))
def test_seed_obeys_the_rules(seed: int) -> None:
    play = Play("team_chat", seed)
    texts = [row.text for row in play.rows(Message)]
    assert len(texts) == len(set(texts))
    inside = {(row.channel_id, row.person) for row in play.rows(Membership)}
    messages = {row.id: row for row in play.rows(Message)}
    for row in messages.values():
        assert (row.channel_id, row.author) in inside
        assert row.thread_of is None or messages[row.thread_of].sent_at < row.sent_at < play.session.now
    for place in play.rows(Channel):
        assert sum(key == place.id for key, _ in inside) <= CHANNEL_LIMIT
        assert sum(row.pinned for row in messages.values() if row.channel_id == place.id) <= 5
    assert len(inside) == len(play.rows(Membership))
    assert {row.message_id for row in play.rows(Reaction)} <= messages.keys()


def test_a_conversation_is_opened_once() -> None:
    play = Play("team_chat")
    person = outsider(play, "lunch")
    before = len(play.rows(Channel))
    for text in ("Hello", "One more thing"):
        sent = play.ok("send_direct_message", person=person.id, text=text)
    assert len(play.rows(Channel)) <= before + 1
    key = play.ok("list_chat_channels", kind="direct", query=person.name)["items"][0]["id"]
    shown = play.ok("list_chat_messages", channel_id=key)["items"]
    assert shown[0]["id"] == sent["message_id"] and shown[0]["text"] == "One more thing"


def test_a_reply_to_a_reply_joins_the_thread() -> None:
    play = Play("team_chat")
    root = play.ok("post_chat_message", **post(play, "lunch"))["message_id"]
    first = play.ok("reply_in_chat_thread", message_id=root, text="Me too")
    second = play.ok("reply_in_chat_thread", message_id=first["message_id"], text="Me three")
    assert (second["thread_of"], second["replies"]) == (root, 2)
    assert play.ok("list_chat_messages", thread_of=root)["total"] == 2
