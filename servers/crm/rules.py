"""What the CRM's tools share: finding things, and the rules of consent, quotes and ownership."""

from __future__ import annotations

from datetime import datetime, timedelta

from servers.crm.model import Activity, Company, Contact, Deal, Fault, Lead, Quote, QuoteState, Region, Rep, Stage
from servers.kernel.errors import ToolError
from servers.kernel.session import Session

FREE_DISCOUNT = 10
"""Per cent that need nobody's approval."""

APPROVAL_TIME = timedelta(hours=4)
QUOTE_VALIDITY = timedelta(days=30)
OUTREACH_A_DAY = 2
CLOSED: tuple[Stage, ...] = ("won", "lost")


def lead_of(session: Session, lead_id: str) -> Lead:
    """The lead, or an error that says how to find one."""
    return session.table(Lead).require(lead_id, "list_leads shows the valid lead ids.")


def contact_of(session: Session, contact_id: str) -> Contact:
    """The contact, or an error that says how to find one."""
    return session.table(Contact).require(contact_id, "list_crm_contacts shows the valid contact ids.")


def company_of(session: Session, company_id: str) -> Company:
    """The company, or an error that says how to find one."""
    return session.table(Company).require(company_id, "list_crm_companies shows the valid company ids.")


def deal_of(session: Session, deal_id: str) -> Deal:
    """The deal, or an error that says how to find one."""
    return session.table(Deal).require(deal_id, "list_sales_deals shows the valid deal ids.")


def rep_of(session: Session, name: str) -> Rep:
    """The sales rep, or an error that says how to find one."""
    return session.table(Rep).require(name, "get_sales_forecast shows the valid user names of reps.")


def open_deal(session: Session, deal_id: str) -> Deal:
    """The deal, refused when it is won or lost."""
    deal = deal_of(session, deal_id)
    if deal.stage in CLOSED:
        advice = "move_deal_stage to discovery may reopen it" if deal.stage == "lost" else "it can't be changed"
        raise ToolError(Fault.DEAL_CLOSED, f"{deal.name} was {deal.stage} on {deal.close_date}; {advice}.")
    return deal


def check_reachable(contact: Contact) -> None:
    """Refuse to contact somebody who opted out."""
    if contact.opted_out_at is not None:
        raise ToolError(
            Fault.DO_NOT_CONTACT,
            f"{contact.name} opted out on {contact.opted_out_at.date()}; only a note may be logged.",
        )


def check_frequency(session: Session, contact: Contact) -> None:
    """Refuse a third outreach to one person within a day."""
    since = session.now - timedelta(days=1)
    recent = [
        activity.at
        for activity in session.table(Activity).where(contact_id=contact.id)
        if activity.kind != "note" and activity.at > since
    ]
    if len(recent) >= OUTREACH_A_DAY:
        free_at = min(recent) + timedelta(days=1)
        raise ToolError(
            Fault.CONTACTED_TOO_OFTEN,
            f"{contact.name} was contacted {len(recent)} times within a day; wait until {free_at:%Y-%m-%d %H:%M} UTC.",
        )


def last_activity(session: Session, contact_id: str) -> datetime | None:
    """When something was last logged about a contact."""
    return max((activity.at for activity in session.table(Activity).where(contact_id=contact_id)), default=None)


def original_of(session: Session, contact: Contact) -> Contact | None:
    """The oldest other record of the same person: same name, same company, created earlier."""
    same = session.table(Contact).where(company_id=contact.company_id, name=contact.name)
    older = [row for row in same if (row.created_at, row.id) < (contact.created_at, contact.id)]
    return min(older, key=lambda row: (row.created_at, row.id), default=None)


def latest_quote(session: Session, deal_id: str) -> Quote | None:
    """The deal's newest quote."""
    quotes = session.table(Quote).where(deal_id=deal_id)
    return max(quotes, key=lambda quote: (quote.made_at, quote.id), default=None)


def quote_state(session: Session, quote: Quote | None) -> QuoteState:
    """Whether a quote is waiting, holds, or has run out at this moment."""
    if quote is None:
        return "none"
    if quote.discount > FREE_DISCOUNT and session.now < quote.made_at + APPROVAL_TIME:
        return "pending"
    return "approved" if session.now < quote.made_at + QUOTE_VALIDITY else "expired"


def check_quote(session: Session, deal: Deal) -> None:
    """Refuse to go on without a quote that is approved and still valid."""
    quote = latest_quote(session, deal.id)
    state = quote_state(session, quote)
    if quote is None:
        raise ToolError(Fault.QUOTE_MISSING, f"{deal.name} has no quote; create_deal_quote comes first.")
    if state == "pending":
        due = quote.made_at + APPROVAL_TIME
        raise ToolError(
            Fault.QUOTE_PENDING,
            f"The {quote.discount}% discount for {deal.name} waits for approval until {due:%Y-%m-%d %H:%M} UTC.",
        )
    if state == "expired":
        ended = (quote.made_at + QUOTE_VALIDITY).date()
        raise ToolError(
            Fault.QUOTE_EXPIRED, f"The quote for {deal.name} ran out on {ended}; create_deal_quote makes a new one."
        )


def open_deals(session: Session, name: str) -> int:
    """How many open deals a rep has."""
    return sum(deal.stage not in CLOSED for deal in session.table(Deal).where(owner=name))


def reps_with_room(session: Session, region: Region) -> list[Rep]:
    """Active reps of a region who can take another deal, the least loaded first."""
    loads = [(open_deals(session, rep.id), rep) for rep in session.table(Rep).where(region=region, active=True)]
    free = [(load, rep) for load, rep in loads if load < rep.deal_limit]
    return [rep for _, rep in sorted(free, key=lambda item: (item[0], item[1].id))]
