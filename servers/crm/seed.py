"""The CRM's initial world: four regions' sales people, their customers, leads and deals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

from servers.crm.model import (
    CURRENCY,
    REASONS,
    Activity,
    ActivityKind,
    Company,
    Contact,
    Deal,
    Lead,
    LeadStatus,
    Quote,
    Region,
    Rep,
    Stage,
)
from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.kernel.types import Money
from servers.shared.people import Person, people

_TODAY = EPOCH.date()
_REGIONS: tuple[Region, ...] = ("americas", "europe", "uk", "japan")
_TERRITORIES: tuple[Region, ...] = ("americas", "europe", "uk", "americas", "europe", "japan")
_FIRST = (
    "Northfield",
    "Brightwater",
    "Kestrel",
    "Silverline",
    "Oakmont",
    "Bluepeak",
    "Harborview",
    "Redwood",
    "Solano",
)
_LAST = ("Logistics", "Foods", "Clinics", "Hotels", "Robotics", "Textiles", "Energy", "Media")
_PRODUCTS = ("Analytics Suite", "Support Plan", "Data Backup", "Payroll Module", "Security Audit", "Training Days")
_STAGES: tuple[Stage, ...] = ("discovery", "proposal", "negotiation", "won", "lost")
_KINDS: tuple[ActivityKind, ...] = ("call", "email", "meeting", "note")
_TOPICS = (
    "asked about prices",
    "wants a demo",
    "will decide next month",
    "sent the brochure",
    "talked about the contract",
    "asked for references",
    "happy with the trial",
)
_REFUSALS = ("no interest", "wrong person", "too small", "left the company")


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write firms and their people, leads, deals with quotes, then reps, whose limits fit what they carry."""
    dice = make.dice
    crowd = people(make.seed, 180)
    reps = [_rep(person, number) for number, person in enumerate(crowd[:20])]
    firms = _companies(make, dice)
    contacts = _contacts(make, dice, firms, crowd[20:110])
    yield from firms
    yield from contacts
    for person in crowd[110:180]:
        yield _lead(make, dice, person)
    loads = dict.fromkeys((rep.id for rep in reps), 0)
    for firm in firms:
        staff = [contact for contact in contacts if contact.company_id == firm.id]
        sellers = [rep for rep in reps if rep.region == firm.region]
        for product in dice.sample(_PRODUCTS, dice.integer(2, 4)):
            deal = _deal(make, dice, firm, f"{firm.name} {product}", dice.choice(staff).id, dice.choice(sellers).id)
            loads[deal.owner] += deal.stage not in ("won", "lost")
            yield deal
            yield from _quote(make, dice, deal)
    for rep in reps:
        yield replace(rep, deal_limit=max(3, loads[rep.id] + dice.integer(0, 3)))
    for contact in contacts:
        yield from _activities(make, dice, contact)


def _rep(person: Person, number: int) -> Rep:
    return Rep(person.username, person.name, _TERRITORIES[number % 6], number % 7 != 6, 0)


def _companies(make: SeedBuilder, dice: Dice) -> list[Company]:
    names = dice.sample([(first, last) for first in _FIRST for last in _LAST], 34)
    return [
        Company(make.new_id("FIRM"), f"{first} {last}", dice.weighted(_REGIONS, (4, 4, 2, 2)), last.casefold())
        for first, last in names
    ]


def _contacts(make: SeedBuilder, dice: Dice, firms: list[Company], crowd: list[Person]) -> list[Contact]:
    """Everybody at some firm; about one in four is there twice, the second time under another address."""
    found = []
    for number, person in enumerate(crowd):
        firm = firms[number % len(firms)]
        created = EPOCH - timedelta(minutes=dice.integer(60_000, 900_000))
        opted_out = EPOCH - timedelta(minutes=dice.integer(600, 120_000)) if dice.chance(0.2) else None
        contact = Contact(make.new_id("CCON"), person.name, person.email, firm.id, created, opted_out)
        found.append(contact)
        if number % 4 == 3:
            email = f"{person.first[0]}.{person.email.partition('.')[2]}".lower()
            later = created + timedelta(minutes=dice.integer(2000, 50_000))
            found.append(replace(contact, id=make.new_id("CCON"), email=email, created_at=later, opted_out_at=None))
    return found


def _lead(make: SeedBuilder, dice: Dice, person: Person) -> Lead:
    statuses: tuple[LeadStatus, ...] = ("new", "contacted", "qualified", "converted", "disqualified")
    status = dice.weighted(statuses, (4, 4, 5, 2, 2))
    created = EPOCH - timedelta(minutes=dice.integer(2000, 150_000))
    qualified = EPOCH - timedelta(days=dice.integer(1, 58)) if status in ("qualified", "converted") else None
    return Lead(
        id=make.new_id("LEAD"),
        name=person.name,
        email=person.email,
        company=f"{dice.choice(_FIRST)} {dice.choice(_LAST)}",
        region=dice.choice(_REGIONS),
        status=status,
        created_at=min(created, qualified - timedelta(days=1)) if qualified else created,
        qualified_at=qualified,
        reason=dice.choice(_REFUSALS) if status == "disqualified" else "",
    )


def _deal(make: SeedBuilder, dice: Dice, firm: Company, name: str, contact_id: str, owner: str) -> Deal:
    stage = dice.weighted(_STAGES, (4, 5, 5, 3, 3))
    open_deal = stage not in ("won", "lost")
    since = EPOCH - timedelta(minutes=dice.integer(2000, 60_000) if open_deal else dice.integer(3000, 200_000))
    close: date | None = _TODAY + timedelta(days=dice.integer(5, 150)) if open_deal else since.date()
    major = dice.integer(4, 180) * 250
    currency = CURRENCY[firm.region]
    amount = Money.of(major * 100 if currency == "JPY" else major, currency)
    return Deal(
        id=make.new_id("DEAL"),
        name=name,
        company_id=firm.id,
        contact_id=contact_id,
        owner=owner,
        stage=stage,
        amount=None if stage == "discovery" and dice.chance(0.35) else amount,
        close_date=None if stage in ("discovery", "proposal") and dice.chance(0.25) else close,
        stage_since=since,
        reason=None if open_deal else dice.choice(REASONS[stage]),
    )


def _quote(make: SeedBuilder, dice: Dice, deal: Deal) -> Iterator[Record]:
    """Negotiated and won deals have a quote, half of the proposals too; some wait and some have run out."""
    if deal.amount is None or deal.stage in ("discovery", "lost") or (deal.stage == "proposal" and dice.chance(0.4)):
        return
    discount = dice.choice((0, 5, 8, 10, 15, 20, 25))
    if deal.stage == "won":
        made = deal.stage_since - timedelta(days=dice.integer(1, 20))
    elif discount > 10 and dice.chance(0.5):
        made = EPOCH - timedelta(minutes=dice.integer(5, 200))
    else:
        made = EPOCH - timedelta(minutes=dice.integer(600, 60_000))
    yield Quote(make.new_id("QUOT"), deal.id, discount, deal.amount.share(100 - discount, 100), made)


def _activities(make: SeedBuilder, dice: Dice, contact: Contact) -> Iterator[Record]:
    for topic in dice.sample(_TOPICS, dice.integer(0, 3)):
        kind = dice.choice(_KINDS)
        at = EPOCH - timedelta(minutes=dice.integer(1500, 80_000))
        if contact.opted_out_at and at > contact.opted_out_at:
            kind = "note"
        yield Activity(make.new_id("CACT"), contact.id, kind, topic, at)
