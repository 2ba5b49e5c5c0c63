"""The CRM's tools for companies and contacts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from servers.crm.model import (
    Activity,
    ActivityKind,
    Company,
    CompanyId,
    Contact,
    ContactId,
    Deal,
    Fault,
    Mark,
    Region,
)
from servers.crm.rules import (
    CLOSED,
    check_frequency,
    check_reachable,
    company_of,
    contact_of,
    original_of,
)
from servers.crm.server import server
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session

OPT_OUT_REST = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class CompanySummary:
    """A company in a list."""

    id: CompanyId
    name: str
    region: Region
    industry: str
    open_deals: int


@dataclass(frozen=True, slots=True)
class ContactSummary:
    """A contact in a list; `marks` is absent when neither holds."""

    id: ContactId
    name: str
    email: str
    company: str
    marks: tuple[Mark, ...] | None


@dataclass(frozen=True, slots=True)
class Merged:
    """The record that stays, and how many deals it took over."""

    kept_contact_id: ContactId
    removed_contact_id: str
    deals_moved: int


@dataclass(frozen=True, slots=True)
class Consent:
    """Whether a contact may be contacted."""

    contact_id: ContactId
    do_not_contact: bool


@dataclass(frozen=True, slots=True)
class Logged:
    """Confirms a logged activity."""

    contact_id: ContactId
    kind: ActivityKind
    activities: int


@server.tool(read_only=True)
def list_crm_companies(
    session: Session, query: Query = "", region: Region | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[CompanySummary]:
    """List customer companies with their ids, region and number of open deals. Ordered by name.

    Args:
        query: words of the company's name or industry.
        region: only companies of this region.
        limit: most companies to return.
        offset: how many to skip.
    """
    rows = search(session.table(Company).all(), query, lambda company: f"{company.name} {company.industry}")
    rows = sorted((row for row in rows if region in (None, row.region)), key=lambda row: (row.name, row.id))
    found = [
        CompanySummary(
            row.id,
            row.name,
            row.region,
            row.industry,
            sum(deal.stage not in CLOSED for deal in session.table(Deal).where(company_id=row.id)),
        )
        for row in rows
    ]
    return paginate(found, limit, offset)


@server.tool(read_only=True)
def list_crm_contacts(
    session: Session,
    query: Query = "",
    company_id: CompanyId | None = None,
    mark: Mark | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[ContactSummary]:
    """List customers' people with ids, e-mail and consent; search by name or company.

    Ordered by name, then id.

    Args:
        query: words of the person's name, e-mail address or company.
        company_id: only people of this company.
        mark: only second records of a person (duplicate), or only people who opted out.
        limit: most contacts to return.
        offset: how many to skip.
    """
    if company_id is not None:
        company_of(session, company_id)
    names = {company.id: company.name for company in session.table(Company).all()}
    rows = session.table(Contact).all()
    rows = search(rows, query, lambda contact: f"{contact.name} {contact.email} {names[contact.company_id]}")
    rows = sorted((row for row in rows if company_id in (None, row.company_id)), key=lambda row: (row.name, row.id))
    found = [
        ContactSummary(row.id, row.name, row.email, names[row.company_id], _marks(session, row) or None)
        for row in rows
        if mark is None or mark in _marks(session, row)
    ]
    return paginate(found, limit, offset)


def _marks(session: Session, contact: Contact) -> tuple[Mark, ...]:
    found: list[Mark] = []
    if original_of(session, contact):
        found.append("duplicate")
    if contact.opted_out_at:
        found.append("opted_out")
    return tuple(found)


@server.tool(destructive=True)
def merge_duplicate_contact(session: Session, contact_id: ContactId) -> Merged:
    """Merge a duplicate contact into the older record of the same person, which stays.

    Deals and activities move over; if either record opted out, the one that stays did too.

    Args:
        contact_id: the duplicate, from list_crm_contacts with mark duplicate.

    Raises:
        no_duplicate: no older record has the same name and company.
    """
    contact = contact_of(session, contact_id)
    kept = original_of(session, contact)
    if kept is None:
        raise ToolError(
            Fault.NO_DUPLICATE,
            f"No older record of {contact.name} at that company exists; "
            "list_crm_contacts with mark duplicate shows what can be merged.",
        )
    deals = session.table(Deal).where(contact_id=contact.id)
    for deal in deals:
        session.table(Deal).put(replace(deal, contact_id=kept.id))
    for activity in session.table(Activity).where(contact_id=contact.id):
        session.table(Activity).put(replace(activity, contact_id=kept.id))
    opted_out = max(filter(None, (kept.opted_out_at, contact.opted_out_at)), default=None)
    session.table(Contact).put(replace(kept, opted_out_at=opted_out))
    session.table(Contact).remove(contact.id)
    return Merged(kept.id, contact.id, len(deals))


@server.tool()
def set_contact_consent(session: Session, contact_id: ContactId, consent: Literal["allow", "refuse"]) -> Consent:
    """Note that a contact refuses or again allows calls, e-mails and meetings.

    Args:
        contact_id: the contact, from list_crm_contacts.
        consent: refuse puts them on the do-not-contact list, allow takes them off it.

    Raises:
        consent_unchanged: it is so already.
        opt_out_too_recent: an opt-out stays for at least 30 days.
    """
    contact = contact_of(session, contact_id)
    if (contact.opted_out_at is not None) == (consent == "refuse"):
        state = "refuses" if contact.opted_out_at else "allows"
        raise ToolError(Fault.CONSENT_UNCHANGED, f"{contact.name} {state} contact already; nothing to change.")
    if contact.opted_out_at is not None and session.now < contact.opted_out_at + OPT_OUT_REST:
        raise ToolError(
            Fault.OPT_OUT_TOO_RECENT,
            f"{contact.name} opted out on {contact.opted_out_at.date()}; "
            f"that can be lifted from {contact.opted_out_at + OPT_OUT_REST:%Y-%m-%d %H:%M} UTC on.",
        )
    session.table(Contact).put(replace(contact, opted_out_at=session.now if consent == "refuse" else None))
    return Consent(contact.id, consent == "refuse")


@server.tool()
def log_crm_activity(
    session: Session,
    contact_id: ContactId,
    kind: ActivityKind,
    text: Annotated[str, Field(min_length=3, max_length=200)],
) -> Logged:
    """Record a call, e-mail or meeting with a contact, or a note about them.

    Args:
        contact_id: the contact, from list_crm_contacts.
        kind: what it was.
        text: what it was about, in a few words.

    Raises:
        do_not_contact: the person opted out, so only notes are allowed.
        contacted_too_often: two calls, e-mails or meetings within a day are the most.
    """
    contact = contact_of(session, contact_id)
    if kind != "note":
        check_reachable(contact)
        check_frequency(session, contact)
    session.table(Activity).add(Activity(session.new_id("CACT"), contact.id, kind, text, session.now))
    return Logged(contact.id, kind, len(session.table(Activity).where(contact_id=contact.id)))
