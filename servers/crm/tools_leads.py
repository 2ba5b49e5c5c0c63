"""The CRM's tools for leads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.crm.model import (
    CURRENCY,
    LEAD_STEPS,
    Company,
    CompanyId,
    Contact,
    ContactId,
    Deal,
    DealId,
    Fault,
    Lead,
    LeadId,
    LeadStatus,
    LeadStep,
    Region,
)
from servers.crm.rules import lead_of, reps_with_room
from servers.crm.server import server
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Amount
from servers.shared.amounts import money

QUALIFICATION_VALIDITY = timedelta(days=45)

Name = Annotated[str, Field(min_length=2, max_length=70)]


@dataclass(frozen=True, slots=True)
class LeadSummary:
    """A lead in a list."""

    id: LeadId
    name: str
    company: str
    region: Region
    status: LeadStatus


@dataclass(frozen=True, slots=True)
class LeadState:
    """A lead after a change."""

    id: LeadId
    name: str
    status: LeadStatus


@dataclass(frozen=True, slots=True)
class Conversion:
    """What became of a converted lead."""

    contact_id: ContactId
    company_id: CompanyId
    deal_id: DealId
    owner: str


@server.tool(read_only=True)
def list_leads(
    session: Session,
    query: Query = "",
    status: LeadStatus | None = None,
    region: Region | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[LeadSummary]:
    """List leads with their ids, newest first; without a status only those still open.

    Ordered by creation, then id.

    Args:
        query: words of the lead's name, company or e-mail address.
        status: only leads in this status.
        region: only leads of this region.
        limit: most leads to return.
        offset: how many to skip.
    """
    rows = search(session.table(Lead).all(), query, lambda lead: f"{lead.name} {lead.company} {lead.email}")
    wanted = (status,) if status else ("new", "contacted", "qualified")
    rows = [lead for lead in rows if lead.status in wanted and region in (None, lead.region)]
    rows.sort(key=lambda lead: (-lead.created_at.timestamp(), lead.id))
    found = [LeadSummary(lead.id, lead.name, lead.company, lead.region, lead.status) for lead in rows]
    return paginate(found, limit, offset)


@server.tool()
def create_lead(
    session: Session,
    name: Name,
    email: Annotated[str, Field(max_length=80, pattern=r"^[^@\s]+@[^@\s]+\.[a-z]{2,10}$")],
    company: Name,
    region: Region,
) -> LeadState:
    """Record somebody who showed interest as a new lead.

    Args:
        name: the person's full name.
        email: the person's e-mail address.
        company: the firm that the person works for.
        region: the sales region.

    Raises:
        duplicate_lead: a lead or a contact has this e-mail address already.
    """
    address = email.lower()
    for lead in session.table(Lead).where(email=address):
        raise ToolError(Fault.DUPLICATE_LEAD, f"{address} is the {lead.status} lead {lead.name} ({lead.id}) already.")
    for contact in session.table(Contact).where(email=address):
        raise ToolError(Fault.DUPLICATE_LEAD, f"{address} is the contact {contact.name} ({contact.id}) already.")
    lead = Lead(session.new_id("LEAD"), name, address, company, region, "new", session.now)
    session.table(Lead).add(lead)
    return LeadState(lead.id, lead.name, lead.status)


@server.tool()
def set_lead_status(
    session: Session,
    lead_id: LeadId,
    status: LeadStep,
    reason: Annotated[str, Field(min_length=3, max_length=100)] | None = None,
) -> LeadState:
    """Mark a lead as contacted, qualified or disqualified; the last needs a reason.

    New leads are contacted first, then qualified; a disqualified one may be contacted again.

    Args:
        lead_id: the lead, from list_leads.
        status: the new status.
        reason: why it is disqualified.

    Raises:
        lead_converted: the lead is a contact by now.
        lead_step_not_allowed: the lead can't go to this status from where it is.
        reason_required: disqualifying needs a reason.
        reason_not_allowed: the other statuses take no reason.
    """
    lead = lead_of(session, lead_id)
    if lead.status == "converted":
        raise ToolError(
            Fault.LEAD_CONVERTED,
            f"{lead.name} was converted; list_crm_contacts and list_sales_deals show what came of it.",
        )
    if status not in LEAD_STEPS[lead.status]:
        raise ToolError(
            Fault.LEAD_STEP_NOT_ALLOWED,
            f"{lead.name} is {lead.status} and can become {' or '.join(LEAD_STEPS[lead.status])}.",
        )
    if status == "disqualified" and reason is None:
        raise ToolError(Fault.REASON_REQUIRED, f"Say why {lead.name} is disqualified; ask the user for the reason.")
    if status != "disqualified" and reason is not None:
        raise ToolError(Fault.REASON_NOT_ALLOWED, f"A reason goes with disqualified only; leave it out for {status}.")
    qualified_at = session.now if status == "qualified" else None
    session.table(Lead).put(replace(lead, status=status, qualified_at=qualified_at, reason=reason or ""))
    return LeadState(lead.id, lead.name, status)


def _contact_for(session: Session, lead: Lead) -> Contact:
    """The contact with the lead's address, or a new one at a company of the lead's name and region."""
    for contact in session.table(Contact).where(email=lead.email):
        return contact
    companies = session.table(Company).where(name=lead.company, region=lead.region)
    company = (
        companies[0]
        if companies
        else session.table(Company).add(Company(session.new_id("FIRM"), lead.company, lead.region, "unknown"))
    )
    return session.table(Contact).add(
        Contact(session.new_id("CCON"), lead.name, lead.email, company.id, session.now, None)
    )


@server.tool()
def convert_lead(
    session: Session,
    lead_id: LeadId,
    deal_name: Annotated[str, Field(min_length=3, max_length=80)],
    amount: Amount | None = None,
) -> Conversion:
    """Turn a qualified lead into a contact with a new deal, owned by a rep with room.

    Args:
        lead_id: the lead, from list_leads with status qualified.
        deal_name: what the new deal is called.
        amount: what it may be worth, in the region's currency.

    Raises:
        lead_converted: it was converted before.
        lead_not_qualified: its status is not qualified.
        qualification_expired: it was qualified more than 45 days ago.
        no_rep_available: nobody in its region has room for a deal.
        invalid_amount: the currency has no such fraction.
    """
    lead = lead_of(session, lead_id)
    if lead.status == "converted":
        raise ToolError(Fault.LEAD_CONVERTED, f"{lead.name} was converted before; list_sales_deals shows the deal.")
    if lead.status != "qualified" or lead.qualified_at is None:
        steps = LEAD_STEPS[lead.status]
        way = "" if "qualified" in steps else f"{steps[0]} and then "
        raise ToolError(
            Fault.LEAD_NOT_QUALIFIED, f"{lead.name} is {lead.status}; set_lead_status to {way}qualified comes first."
        )
    expires = lead.qualified_at + QUALIFICATION_VALIDITY
    if session.now > expires:
        raise ToolError(
            Fault.QUALIFICATION_EXPIRED,
            f"{lead.name}'s qualification ended on {expires.date()}; set_lead_status to contacted and qualified again.",
        )
    reps = reps_with_room(session, lead.region)
    if not reps:
        raise ToolError(
            Fault.NO_REP_AVAILABLE, f"Every rep in {lead.region} is full; close or reassign a deal there first."
        )
    value = money(amount, CURRENCY[lead.region], Fault.INVALID_AMOUNT) if amount is not None else None
    contact = _contact_for(session, lead)
    deal = Deal(
        session.new_id("DEAL"),
        deal_name,
        contact.company_id,
        contact.id,
        reps[0].id,
        "discovery",
        value,
        None,
        session.now,
    )
    session.table(Deal).add(deal)
    session.table(Lead).put(replace(lead, status="converted"))
    return Conversion(contact.id, contact.company_id, deal.id, reps[0].id)
