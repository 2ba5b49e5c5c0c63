"""The chat's initial world: a team's channels, their members, and a month of messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.shared.people import people
from servers.team_chat.model import Channel, ChannelKind, Emoji, Membership, Message, Person, Presence, Reaction, Role


@dataclass(frozen=True, slots=True)
class _Plan:
    """A channel to come: `full` ones hold as many people as fit, `joined` ones hold the user."""

    name: str
    kind: ChannelKind = "public"
    archived: bool = False
    admins_only: bool = False
    slow_minutes: int = 0
    full: bool = False
    joined: bool = True


_CHANNELS = (
    _Plan("announcements", admins_only=True, full=True),
    _Plan("random", full=True),
    _Plan("launch-web"),
    _Plan("launch-mobile"),
    _Plan("design-review"),
    _Plan("help-desk", slow_minutes=10),
    _Plan("lunch"),
    _Plan("release-notes", slow_minutes=30),
    _Plan("budget-2026", kind="private"),
    _Plan("hiring", kind="private"),
    _Plan("old-website", archived=True),
    _Plan("summer-party-2025", archived=True),
    _Plan("data-club", joined=False),
    _Plan("running-group", joined=False),
    _Plan("board", kind="private", joined=False),
)
_TOPICS = (
    "the login page",
    "the March invoice",
    "the new logo",
    "the staging server",
    "the team lunch",
    "the customer survey",
    "the price list",
    "the demo video",
    "the office move",
    "the onboarding guide",
    "the error report",
    "the travel plan",
)
_OPENERS = (
    "Who can look at {}?",
    "I finished {}.",
    "There's a problem with {}.",
    "Any news on {}?",
    "Please review {} today.",
    "We need to talk about {}.",
    "Let's postpone {} to Friday.",
    "I shared a draft of {}.",
    "Can we close {}?",
    "Reminder: {} is due tomorrow.",
    "Great feedback on {}!",
    "I have a question about {}.",
    "The customer asked about {}.",
    "Where do I find {}?",
    "I'm blocked on {}.",
    "Thanks for fixing {}.",
)
_ANSWERS = (
    "Looks good to me",
    "I'll take it",
    "Give me an hour",
    "Done just now",
    "Not before Thursday",
    "Sure, go ahead",
    "Let me check first",
    "I don't think so",
)
_TONES = (
    "thanks.",
    "promise!",
    "sorry.",
    "as agreed.",
    "I hope.",
    "for now.",
    "at last!",
    "by the way.",
    "I guess.",
    "everyone.",
    "folks!",
    "as usual.",
)
_EMOJIS: tuple[Emoji, ...] = ("thumbs_up", "heart", "tada", "eyes", "check_mark", "laughing")
_PRESENCES: tuple[Presence, ...] = ("available", "busy", "away", "do_not_disturb")

CHANNEL_LIMIT = 24
"""Most people in one channel."""


class _Writer:
    """Hands out texts, none of them twice, so that a message can be named by its text."""

    def __init__(self, make: SeedBuilder) -> None:
        self.make = make
        self.dice = make.dice
        self._openers = self.dice.shuffled([opener.format(topic) for opener in _OPENERS for topic in _TOPICS])
        self._answers = self.dice.shuffled([f"{answer}, {tone}" for answer in _ANSWERS for tone in _TONES])

    def message(self, channel: Channel, author: str, minutes: int, root: Message | None = None) -> Message:
        """A message of so many minutes ago, under `root` if there is one."""
        text = (self._answers if root else self._openers).pop()
        sent = EPOCH - timedelta(minutes=minutes)
        return Message(self.make.new_id("CMSG"), channel.id, author, text, sent, root.id if root else None)


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write people, then each channel with its members and messages, then reactions."""
    dice = make.dice
    team = [_person(dice, number, person.username, person.name) for number, person in enumerate(people(make.seed, 36))]
    yield from team
    writer = _Writer(make)
    messages: list[Message] = []
    for plan in _CHANNELS:
        channel = Channel(make.new_id("CHAN"), plan.name, plan.kind, plan.archived, plan.admins_only, plan.slow_minutes)
        members = _members(dice, plan, team)
        yield channel
        yield from (Membership(make.new_id("CMEM"), channel.id, person.id) for person in members)
        messages += _talk(writer, channel, [person.id for person in members], plan)
    for other in team[1:4]:
        channel = Channel(make.new_id("CHAN"), other.name, "direct", False, False, 0)
        yield channel
        yield from (Membership(make.new_id("CMEM"), channel.id, person.id) for person in (team[0], other))
        messages += [writer.message(channel, dice.choice((team[0].id, other.id)), dice.integer(60, 9000))]
    yield from messages
    for message in messages:
        for person in dice.sample(team[1:], dice.weighted((0, 1, 2), (6, 3, 1))):
            yield Reaction(make.new_id("CREA"), message.id, person.id, dice.choice(_EMOJIS))


def _person(dice: Dice, number: int, username: str, name: str) -> Person:
    role: Role = "member"
    if number in (1, 2):
        role = "admin"
    elif number % 9 == 8:
        role = "deactivated"
    elif number % 7 == 6:
        role = "guest"
    if number == 0 or role == "deactivated":
        return Person(username, name, role, "available", None, number == 0)
    presence = dice.weighted(_PRESENCES, (5, 2, 2, 3))
    until = None if presence == "available" else EPOCH + timedelta(minutes=15 * dice.integer(-8, 40))
    return Person(username, name, role, presence, until, False)


def _members(dice: Dice, plan: _Plan, team: list[Person]) -> list[Person]:
    staff = [person for person in team[1:] if person.role in ("admin", "member")]
    count = CHANNEL_LIMIT - 1 if plan.full else dice.integer(5, 9)
    found = dice.sample(staff, count)
    if plan.name == "launch-web":
        found += [person for person in team if person.role == "guest"][:3]
    return [*([team[0]] if plan.joined else []), *found]


def _talk(writer: _Writer, channel: Channel, members: list[str], plan: _Plan) -> list[Message]:
    """Root messages, some answered and some pinned; the user wrote a little in the last quarter of an hour."""
    dice, found = writer.dice, []
    for number in range(8):
        minutes = dice.integer(40_000, 90_000) if plan.archived else dice.integer(20, 4000) * (1 + 8 * (number > 5))
        root = writer.message(channel, dice.choice(members), minutes)
        found.append(replace(root, pinned=number < (5 if channel.name == "design-review" else dice.integer(0, 2))))
        if number % 4 and minutes < 4000:
            found.append(writer.message(channel, dice.choice(members), minutes - dice.integer(1, 15), root))
    if plan.joined and not plan.archived and not plan.admins_only:
        found += [writer.message(channel, members[0], minutes) for minutes in (dice.integer(2, 7), dice.integer(8, 14))]
    return found
