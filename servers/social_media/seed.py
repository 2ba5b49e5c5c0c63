"""The network's initial world: who follows, blocks and writes what, and posts that appear later."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.shared.people import Person, people
from servers.social_media.model import (
    Comment,
    Follow,
    Like,
    Message,
    MessagePolicy,
    Notice,
    NoticeKind,
    Poll,
    Post,
    Profile,
    Report,
    UserBlock,
    Visibility,
    Vote,
)

_THINGS = (
    ("jazz festival", "music"), ("night market", "food"), ("city marathon", "running"), ("sourdough class", "baking"),
    ("botanical garden", "plants"), ("book fair", "books"), ("harbour tour", "travel"), ("chess open", "chess"),
    ("pottery studio", "crafts"), ("film week", "cinema"), ("bike repair cafe", "cycling"), ("zoo", "science"),
    ("climbing gym", "climbing"), ("street art walk", "art"), ("noodle bar", "food"), ("sea swim", "running"),
    ("vinyl shop", "music"), ("poetry slam", "books"), ("astronomy evening", "science"), ("flea market", "crafts"),
)  # fmt: skip
_FORMS = (
    "Just back from the {} and loved it #{}", "My photos from the {} are up #{}", "Three tips for the {} #{}",
    "Has anyone else tried the {}? #{}", "Still thinking about the {} #{}", "Tickets for the {} are gone already #{}",
    "First time at the {} today #{}", "A long review of the {} is coming #{}",
)  # fmt: skip
_QUESTIONS = (
    ("Is the {} worth a visit? #{}", ("Yes", "No", "Not sure")),
    ("Should I take friends to the {}? #{}", ("Yes", "No", "Not sure")),
    ("Is the {} too crowded these days? #{}", ("Yes", "No", "Not sure")),
    ("Would you go to the {} again? #{}", ("Yes", "No")),
    ("The {}: better in the morning or the evening? #{}", ("Morning", "Evening")),
)
_COMMENTS = (
    "Great idea!", "I was there too.", "Where exactly is that?", "Count me in next time.", "Not my thing, but nice.",
    "Thanks for sharing.", "How much was it?", "That looks wonderful.",
)  # fmt: skip
_BIOS = ("Runner and baker", "Reads on trains", "Photos of quiet streets", "Teacher, cyclist", "Cook without recipes")
_POLICIES: tuple[MessagePolicy, ...] = ("everyone", "everyone", "followed", "nobody")

FOLLOWED, PRIVATE, BLOCKED, BLOCKERS, SUSPENDED = range(1, 19), range(15, 29), range(29, 32), (32, 33), (34, 35)
"""Which of the people play which part; 15 to 18 are private and followed, 25 to 28 private and not."""


def build(make: SeedBuilder) -> Iterator[Record]:
    """Profiles and ties first, then the posts with what hangs on them."""
    dice = make.dice
    crowd = people(make.seed, 42)
    yield from _profiles(dice, crowd)
    yield from _ties(dice, crowd)
    texts = dice.shuffled([form.format(*thing) for form in _FORMS for thing in _THINGS])
    for n in range(14):
        yield from _own_post(make, crowd, texts.pop(), n)
    for n in range(24):
        yield from _poll_post(make, crowd, n)
    for n in range(116):
        yield from _post(make, crowd, texts.pop(), n)
    for n in range(30):
        peer = crowd[1 + n % 14].username
        pair = (crowd[0].username, peer) if n % 2 else (peer, crowd[0].username)
        text = f"About the {dice.choice(_THINGS)[0]}: {dice.choice(_COMMENTS)}"
        yield Message(make.new_id("SMSG"), *pair, text, EPOCH - timedelta(minutes=dice.integer(70, 9000)))
    for n in range(6):
        yield Notice(make.new_id("SNTC"), "follow", crowd[19 + n % 5].username, "", _before(dice, 5, 9000))


def _profiles(dice: Dice, crowd: list[Person]) -> Iterator[Record]:
    for n, person in enumerate(crowd):
        private = n in (15, 16, 17, 18, 25, 26, 27, 28)
        policy = "nobody" if n in (36, 37) else dice.choice(_POLICIES)
        yield Profile(
            id=person.username,
            name=person.name,
            bio=f"{dice.choice(_BIOS)}, {dice.choice(_THINGS)[0]} regular",
            private=private,
            messages=policy,
            suspended=n in SUSPENDED,
            me=n == 0,
            accepts_after=dice.integer(2, 30) if private else 0,
        )


def _ties(dice: Dice, crowd: list[Person]) -> Iterator[Record]:
    names = [person.username for person in crowd]
    for n in (*FOLLOWED, 25, 26):
        since = EPOCH - timedelta(hours=1) if n > 18 else _before(dice, 5000, 400_000)
        yield Follow(f"{names[0]}>{names[n]}", names[0], names[n], since, n > 18)
    for n, name in enumerate(names[1:29], start=1):
        for other in dice.sample([key for key in names[:29] if key != name], dice.integer(3, 9)):
            yield Follow(f"{name}>{other}", name, other, _before(dice, 3000, 400_000), False)
        if n in (1, 2, 3):
            yield UserBlock(f"{name}>{names[38]}", name, names[38], _before(dice, 100, 90_000))
    for n in BLOCKED:
        yield UserBlock(f"{names[0]}>{names[n]}", names[0], names[n], _before(dice, 100, 90_000))
    for n in BLOCKERS:
        yield UserBlock(f"{names[n]}>{names[0]}", names[n], names[0], _before(dice, 100, 90_000))


def _before(dice: Dice, low: int, high: int) -> datetime:
    return EPOCH - timedelta(minutes=dice.integer(low, high))


def _own_post(make: SeedBuilder, crowd: list[Person], text: str, n: int) -> Iterator[Record]:
    """Posts of the user: some can be edited still; others have reacted to them."""
    dice, user = make.dice, crowd[0].username
    recent = (5, 40, 66, 80, 94, 107)
    when = _before(dice, recent[n], recent[n] + 6) if n < len(recent) else _before(dice, 200, 3000)
    visibility: Visibility = ("public", "followers", "private")[n % 3 if n > 5 else 0]
    post = Post(make.new_id("SPST"), user, text, visibility, when)
    yield post
    for other in dice.sample(crowd[1:15], 0 if visibility == "private" else dice.integer(1, 3)):
        kind: NoticeKind = dice.choice(("like", "comment"))
        at = when + timedelta(minutes=dice.integer(1, 3))
        if kind == "like":
            yield Like(f"{post.id}/{other.username}", post.id, other.username)
        else:
            yield Comment(make.new_id("SCOM"), post.id, other.username, dice.choice(_COMMENTS), at)
        yield Notice(make.new_id("SNTC"), kind, other.username, post.id, at)


def _poll_post(make: SeedBuilder, crowd: list[Person], n: int) -> Iterator[Record]:
    """Polls, of which every fifth is closed and some have the user's vote; two are the user's own."""
    dice = make.dice
    question, options = _QUESTIONS[n % 3 if n < len(_THINGS) else 3 + n % 2]
    author = crowd[0] if n in (5, 11) else crowd[1 + n % 24]
    closed = n % 5 == 4
    when = _before(dice, 1600, 2800) if closed else _before(dice, 130, 2800)
    if n == 5:
        when = EPOCH - timedelta(minutes=118)
    post = Post(make.new_id("SPST"), author.username, question.format(*_THINGS[n % len(_THINGS)]), "public", when)
    closes = when + timedelta(hours=24) if closed else EPOCH + timedelta(hours=dice.integer(3, 120))
    poll = Poll(make.new_id("SPOL"), post.id, options, closes)
    yield post
    yield poll
    voters = dice.sample(crowd[1:15], dice.integer(2, 7))
    if n % 6 == 4 and author is not crowd[0]:
        voters.append(crowd[0])
    for voter in voters:
        if voter is not author:
            yield Vote(f"{poll.id}/{voter.username}", poll.id, voter.username, dice.choice(options))


def _post(make: SeedBuilder, crowd: list[Person], text: str, n: int) -> Iterator[Record]:
    """Posts of everybody, blocked and suspended people included; every ninth appears later."""
    dice = make.dice
    author = crowd[1 + n % 38]
    when = EPOCH + timedelta(minutes=dice.integer(20, 3000)) if n % 9 == 8 else _before(dice, 1000, 30_000)
    mention = n % 10 == 3 and author in crowd[1:15]
    post = Post(
        id=make.new_id("SPST"),
        author=author.username,
        text=f"{text} @{crowd[0].username}" if mention else text,
        visibility=dice.weighted(("public", "followers", "private"), (8, 2, 1)) if not mention else "public",
        posted_at=_before(dice, 100, 2000) if mention else when,
        removed=n % 29 == 17,
    )
    yield post
    if mention:
        yield Notice(make.new_id("SNTC"), "mention", author.username, post.id, post.posted_at)
    if post.posted_at > EPOCH:
        return
    for fan in dice.sample(crowd[:29], dice.integer(0, 5)):
        yield Like(f"{post.id}/{fan.username}", post.id, fan.username)
    for writer in dice.sample(crowd[1:29], dice.weighted((0, 1, 2), (5, 3, 2))):
        at = min(EPOCH, post.posted_at + timedelta(minutes=dice.integer(2, 900)))
        yield Comment(make.new_id("SCOM"), post.id, writer.username, dice.choice(_COMMENTS), at)
    if n % 23 == 5:
        yield Report(f"{post.id}/{crowd[0].username}", post.id, "spam", EPOCH - timedelta(hours=dice.integer(1, 20)))
