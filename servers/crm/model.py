"""Records and error codes of the CRM."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity, Money

LeadId: TypeAlias = Annotated[str, Entity("sales_lead")]
CompanyId: TypeAlias = Annotated[str, Entity("crm_company")]
ContactId: TypeAlias = Annotated[str, Entity("crm_contact")]
DealId: TypeAlias = Annotated[str, Entity("sales_deal")]
RepName: TypeAlias = Annotated[str, Entity("sales_rep", natural=True)]

Region: TypeAlias = Literal["americas", "europe", "uk", "japan"]
LeadStatus: TypeAlias = Literal["new", "contacted", "qualified", "converted", "disqualified"]
LeadStep: TypeAlias = Literal["contacted", "qualified", "disqualified"]
Stage: TypeAlias = Literal["discovery", "proposal", "negotiation", "won", "lost"]
Reason: TypeAlias = Literal["price", "product_fit", "relationship", "competitor", "no_budget", "timing"]
ActivityKind: TypeAlias = Literal["call", "email", "meeting", "note"]
Mark: TypeAlias = Literal["duplicate", "opted_out"]
Touch: TypeAlias = Literal["recent", "stale"]
QuoteState: TypeAlias = Literal["none", "pending", "approved", "expired"]

CURRENCY: dict[Region, str] = {"americas": "USD", "europe": "EUR", "uk": "GBP", "japan": "JPY"}
"""What each region's deals are counted in."""

LEAD_STEPS: dict[LeadStatus, tuple[LeadStep, ...]] = {
    "new": ("contacted", "disqualified"),
    "contacted": ("qualified", "disqualified"),
    "qualified": ("contacted", "disqualified"),
    "disqualified": ("contacted",),
    "converted": (),
}
PIPELINE: dict[Stage, tuple[Stage, ...]] = {
    "discovery": ("proposal", "lost"),
    "proposal": ("discovery", "negotiation", "lost"),
    "negotiation": ("proposal", "won", "lost"),
    "won": (),
    "lost": ("discovery",),
}
"""Where a deal may go from each stage."""

PROBABILITY: dict[Stage, int] = {"discovery": 10, "proposal": 40, "negotiation": 70, "won": 100, "lost": 0}
"""Chance of winning, in per cent."""

REASONS: dict[Stage, tuple[Reason, ...]] = {
    "won": ("price", "product_fit", "relationship"),
    "lost": ("price", "competitor", "no_budget", "timing"),
}


class Fault(StrEnum):
    """What the CRM refuses, beyond bad arguments and unknown ids."""

    DUPLICATE_LEAD = "duplicate_lead"
    LEAD_CONVERTED = "lead_converted"
    LEAD_STEP_NOT_ALLOWED = "lead_step_not_allowed"
    LEAD_NOT_QUALIFIED = "lead_not_qualified"
    QUALIFICATION_EXPIRED = "qualification_expired"
    NO_REP_AVAILABLE = "no_rep_available"
    REASON_REQUIRED = "reason_required"
    REASON_NOT_ALLOWED = "reason_not_allowed"
    NO_DUPLICATE = "no_duplicate"
    DO_NOT_CONTACT = "do_not_contact"
    CONTACTED_TOO_OFTEN = "contacted_too_often"
    CONSENT_UNCHANGED = "consent_unchanged"
    OPT_OUT_TOO_RECENT = "opt_out_too_recent"
    NOTHING_TO_CHANGE = "nothing_to_change"
    DEAL_CLOSED = "deal_closed"
    CLOSE_DATE_NOT_ALLOWED = "close_date_not_allowed"
    AMOUNT_QUOTED = "amount_quoted"
    INVALID_AMOUNT = "invalid_amount"
    STAGE_NOT_ALLOWED = "stage_not_allowed"
    MISSING_FIELD = "missing_field"
    QUOTE_MISSING = "quote_missing"
    QUOTE_PENDING = "quote_pending"
    QUOTE_EXPIRED = "quote_expired"
    QUOTE_VALID = "quote_valid"
    DISCOUNT_TOO_HIGH = "discount_too_high"
    REOPEN_WINDOW_CLOSED = "reopen_window_closed"
    SAME_OWNER = "same_owner"
    REP_INACTIVE = "rep_inactive"
    TERRITORY_MISMATCH = "territory_mismatch"
    REP_AT_CAPACITY = "rep_at_capacity"


@dataclass(frozen=True, slots=True)
class Rep(Record):
    """Somebody who sells; `id` is the user name. Only active ones get deals, at most `deal_limit` open."""

    id: RepName
    name: str
    region: Region
    active: bool
    deal_limit: int


@dataclass(frozen=True, slots=True)
class Company(Record):
    """A firm that buys or may buy."""

    id: CompanyId
    name: str
    region: Region
    industry: str


@dataclass(frozen=True, slots=True)
class Contact(Record):
    """A person at a company. `opted_out_at` is set while nobody may contact them."""

    id: ContactId
    name: str
    email: str
    company_id: CompanyId
    created_at: datetime
    opted_out_at: datetime | None


@dataclass(frozen=True, slots=True)
class Lead(Record):
    """Somebody who showed interest. A qualification holds for a while from `qualified_at`."""

    id: LeadId
    name: str
    email: str
    company: str
    region: Region
    status: LeadStatus
    created_at: datetime
    qualified_at: datetime | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Deal(Record):
    """A possible sale. `stage_since` is when it came to its stage, `reason` why it was won or lost."""

    id: DealId
    name: str
    company_id: CompanyId
    contact_id: ContactId
    owner: RepName
    stage: Stage
    amount: Money | None
    close_date: date | None
    stage_since: datetime
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Quote(Record):
    """An offer for a deal; a large discount waits for the manager's approval."""

    id: str
    deal_id: DealId
    discount: int
    total: Money
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Activity(Record):
    """A call, e-mail, meeting or note about a contact."""

    id: str
    contact_id: ContactId
    kind: ActivityKind
    text: str
    at: datetime
