"""The mailbox's initial world: contacts, sixty days of conversations, drafts, filters, and mail that arrives later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from servers.email.model import Attachment, Contact, Draft, Email, Filter, Folder, Label, Mailbox
from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.shared.people import Person, people

_THINGS = (
    "warehouse move", "spring catalogue", "budget", "hiring plan", "office lease",
    "trade fair", "website", "price list", "customer survey", "training day",
    "annual report", "supplier audit", "summer party", "payroll change", "brand guide",
    "insurance renewal", "parking permits", "travel policy", "safety drill", "new laptops",
)  # fmt: skip
_FORMS = (
    ("Question about the {}", "Could you tell me who decides on the {}?"),
    ("Draft for the {}", "Here is my draft for the {}. Comments until Friday, please."),
    ("Next steps, {}", "We agreed on two next steps for the {}: a cost estimate and a date."),
    ("Notes on the {}", "These are my notes on the {}. Did I miss anything?"),
    ("Deadline for the {}", "The deadline for the {} has moved to the end of the month."),
)
_ANSWERS = (
    "Thanks, I'll look at it tomorrow.", "Sounds good to me.", "Can we talk about this on Thursday?",
    "I have one doubt about the cost.", "Done, see the updated version.", "Please ask Finance first.",
)  # fmt: skip
_SENDERS = (
    ("noreply@cityrail.example", "City Rail Tickets", ("Your ticket to {}", "Track works near {}")),
    ("noreply@parcelhub.example", "Parcel Hub", ("Parcel for {} on its way", "Parcel from {} delivered")),
    ("news@gardenweekly.example", "Garden Weekly", ("Garden Weekly: {} special", "Reader letters from {}")),
    ("billing@fibernet.example", "Fibernet Billing", ("Fibernet invoice {}", "Payment received for {}")),
)
_SPAMMERS = (
    ("prize@lucky-draw.example", "Lucky Draw"),
    ("offer@cheap-watches.example", "Cheap Watches"),
    ("loan@fast-cash.example", "Fast Cash"),
)
_WORDS = (
    "Lisbon", "Vienna", "Porto", "Kyoto", "Austin", "Zurich", "Madrid", "Rome", "Berlin", "Warsaw", "Toronto", "Paris",
)  # fmt: skip
_LABELS = ("Work", "Family", "Finance", "Travel", "To do", "Receipts")
_FILES = ("{}.pdf", "{} figures.xlsx", "{} photos.zip", "{} slides.pptx", "{} setup.exe")
_SIGNATURES = ("Best regards, {}", "Kind regards, {}", "Cheers, {}")


def build(make: SeedBuilder) -> Iterator[Record]:
    """Mail first; the quota is set so that little room is left."""
    dice = make.dice
    user, *others = people(make.seed, 38)
    yield from _contacts(dice, [user, *others])
    for n, name in enumerate(_LABELS):
        yield Label(name, EPOCH - timedelta(days=400 - n))
    topics = dice.shuffled([(form[0].format(t), form[1].format(t), t) for t in _THINGS for form in _FORMS])
    rows: list[Record] = []
    for n in range(62):
        rows += _conversation(make, user, others, topics[n], n)
    rows += [row for n, topic in enumerate(topics[62:74]) for row in _own_mail(make, user, others, topic, n)]
    rows += _machine_mail(make, user)
    rows += _drafts(make, others, topics[74:88])
    yield from rows
    used = sum(row.size_kb for row in rows if isinstance(row, Attachment))
    yield Mailbox(user.email, user.name, (used // 1000 + 32) * 1000, dice.choice(_SIGNATURES).format(user.first))
    friends = dice.sample(others, 2)
    filters = (("", "newsletter", "archive", ""), (friends[0].email, "", "", "Family"), ("", "invoice", "", "Finance"))
    for sender, words, folder, label in filters:
        yield Filter(make.new_id("EFI"), sender, words, folder, label, EPOCH - timedelta(days=dice.integer(1, 90)))


def _contacts(dice: Dice, everyone: list[Person]) -> Iterator[Record]:
    for n, person in enumerate(everyone):
        blocked = EPOCH - timedelta(days=dice.integer(1, 40)) if n % 9 == 8 else None
        yield Contact(person.email, person.name, blocked)
    for address, name, _ in _SENDERS:
        yield Contact(address, name, None)
    for n, (address, name) in enumerate(_SPAMMERS):
        yield Contact(address, name, None if n == 2 else EPOCH - timedelta(days=60))


def _moment(dice: Dice, low: int, high: int) -> datetime:
    """A moment some minutes before the beginning; negative ones come after it."""
    return EPOCH - timedelta(minutes=dice.integer(low, high))


def _conversation(
    make: SeedBuilder, user: Person, others: list[Person], topic: tuple[str, str, str], n: int
) -> Iterator[Record]:
    """One to three messages; every fourth conversation begins after the session does, three have just begun."""
    dice = make.dice
    subject, text, thing = topic
    late, fresh = n % 4 == 3, n < 3
    writer, *rest = dice.sample(others, 3)
    thread = make.new_id("ETH")
    when = _moment(dice, -4000, -3) if late else _moment(dice, 12, 55) if fresh else _moment(dice, 90, 60_000)
    folder = "inbox" if fresh else dice.weighted(("inbox", "archive", "trash", "spam"), (6, 2, 2, 1))
    for step in range(1 if late or fresh else dice.integer(1, 3)):
        sender = user if step == 1 else rest[0] if step else writer
        receivers = [writer, rest[1]] if step == 1 else [user] if dice.chance(0.5) else [user, rest[1]]
        place: Folder = "sent" if sender is user else "inbox" if late else _folder(folder)
        mail = Email(
            id=make.new_id("EML"),
            thread_id=thread,
            sender=sender.email,
            to=tuple(person.email for person in receivers),
            subject=f"Re: {subject}" if step else subject,
            body=dice.choice(_ANSWERS) if step else text,
            sent_at=when,
            folder=place,
            unread=sender is not user and (late or dice.chance(0.4)),
            moved_at=when if late else min(EPOCH, when + timedelta(hours=5)),
            starred=dice.chance(0.1),
            labels=() if late else tuple(sorted(dice.sample(_LABELS, dice.weighted((0, 1, 3), (6, 4, 1))))),
            touched=not late,
        )
        yield mail
        if fresh or dice.chance(0.55):
            yield _file(make, mail.id, thing)
        when = min(when + timedelta(minutes=dice.integer(10, 900)), EPOCH - timedelta(minutes=11 + step))


def _folder(name: str) -> Folder:
    places: dict[str, Folder] = {"archive": "archive", "trash": "trash", "spam": "spam"}
    return places.get(name, "inbox")


def _file(make: SeedBuilder, holder: str, thing: str) -> Attachment:
    dice = make.dice
    size = dice.weighted((dice.integer(40, 900), dice.integer(1000, 6000), dice.integer(9000, 16_000)), (5, 3, 2))
    name = dice.weighted(_FILES, (6, 4, 3, 3, 1)).format(thing)
    return Attachment(make.new_id("EAT"), holder, name, size)


def _own_mail(
    make: SeedBuilder, user: Person, others: list[Person], topic: tuple[str, str, str], n: int
) -> Iterator[Record]:
    """Mail of the user that has just left, or is scheduled."""
    dice = make.dice
    scheduled = n > 6
    when = EPOCH + timedelta(hours=dice.integer(3, 200)) if scheduled else EPOCH - timedelta(minutes=1 + n)
    yield Email(
        id=make.new_id("EML"),
        thread_id=make.new_id("ETH"),
        sender=user.email,
        to=(dice.choice(others).email,),
        subject=topic[0],
        body=topic[1],
        sent_at=when,
        folder="scheduled" if scheduled else "sent",
        unread=False,
        moved_at=min(when, EPOCH),
        touched=True,
    )


def _machine_mail(make: SeedBuilder, user: Person) -> Iterator[Record]:
    """Tickets, parcels, newsletters, bills and junk; some of it is still to come."""
    dice = make.dice
    batches = [(address, form, False) for address, _, forms in _SENDERS for form in forms]
    batches += [(address, name + " greets {}", True) for address, name in _SPAMMERS]
    for address, form, junk in batches:
        for word in dice.sample(_WORDS, 6):
            when = _moment(dice, -3000, 50_000)
            mail = Email(
                id=make.new_id("EML"),
                thread_id=make.new_id("ETH"),
                sender=address,
                to=(user.email,),
                subject=form.format(word),
                body=f"Reference {dice.integer(10_000, 99_999)}. This message was written by a machine.",
                sent_at=when,
                folder="spam" if junk and when <= EPOCH else "inbox",
                unread=when > EPOCH or dice.chance(0.5),
                moved_at=when,
                touched=when <= EPOCH,
            )
            yield mail
            if "invoice" in form:
                yield Attachment(make.new_id("EAT"), mail.id, f"invoice {word}.pdf", dice.integer(60, 300))


def _drafts(make: SeedBuilder, others: list[Person], topics: list[tuple[str, str, str]]) -> Iterator[Record]:
    dice = make.dice
    for n, (subject, text, thing) in enumerate(topics):
        to = tuple(person.email for person in dice.sample(others, dice.integer(1, 2)))
        draft = Draft(make.new_id("EDR"), "", to, subject, text, _moment(dice, 20, 9000))
        yield replace(draft, body="") if n % 7 == 3 else draft
        if n % 3 == 0:
            yield _file(make, draft.id, thing)
