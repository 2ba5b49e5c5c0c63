"""The CRM's tools for deals, quotes and the forecast."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Annotated

from pydantic import Field

from servers.crm.model import (
    CURRENCY,
    PIPELINE,
    PROBABILITY,
    REASONS,
    CompanyId,
    Deal,
    DealId,
    Fault,
    Quote,
    QuoteState,
    Reason,
    Region,
    Rep,
    RepName,
    Stage,
    Touch,
)
from servers.crm.rules import (
    CLOSED,
    QUOTE_VALIDITY,
    check_quote,
    check_reachable,
    company_of,
    contact_of,
    deal_of,
    last_activity,
    latest_quote,
    open_deal,
    open_deals,
    quote_state,
    rep_of,
    reps_with_room,
)
from servers.crm.server import server
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Amount, Date, Money
from servers.shared.amounts import money

TOP_DISCOUNT = 25
LATEST_CLOSE = timedelta(days=540)
REOPEN_WINDOW = timedelta(days=60)
STALE_AFTER = timedelta(days=21)

Quarter = Annotated[str, Field(pattern=r"^20\d\d-Q[1-4]$")]


@dataclass(frozen=True, slots=True)
class DealSummary:
    """A deal in a list."""

    id: DealId
    name: str
    stage: Stage
    amount: Money | None
    close_date: date | None


@dataclass(frozen=True, slots=True)
class DealDetails:
    """A deal with its people, its quote's state and when its contact was last dealt with."""

    id: DealId
    name: str
    company: str
    contact: str
    owner: str
    stage: Stage
    amount: Money | None
    close_date: date | None
    quote: QuoteState
    last_activity: date | None
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class DealFields:
    """A deal's own fields after a change."""

    id: DealId
    name: str
    amount: Money | None
    close_date: date | None


@dataclass(frozen=True, slots=True)
class Staged:
    """Where a deal stands in the pipeline now."""

    id: DealId
    stage: Stage
    probability: int
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class Owned:
    """Who owns a deal now, and how many open deals they have."""

    id: DealId
    owner: str
    open_deals: int


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quote; `state` is pending while a discount waits for approval."""

    deal_id: DealId
    total: Money
    discount_percent: int
    state: QuoteState
    valid_until: date


@dataclass(frozen=True, slots=True)
class RepForecast:
    """What a rep may bring in during a quarter: `weighted` is amount times probability of open deals."""

    id: RepName
    name: str
    open_deals: int
    weighted: Money
    won: Money
    lost_deals: int


@server.tool(read_only=True)
def list_sales_deals(
    session: Session,
    query: Query = "",
    stage: Stage | None = None,
    company_id: CompanyId | None = None,
    activity: Touch | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[DealSummary]:
    """List sales deals with their ids, stage and amount; without a stage only the open ones.

    Ordered by close date (undated last), then id.

    Args:
        query: words of the deal's name or its owner's user name.
        stage: only deals in this stage.
        company_id: only deals with this company.
        activity: only deals whose contact was (recent) or wasn't (stale) dealt with in three weeks.
        limit: most deals to return.
        offset: how many to skip.
    """
    if company_id is not None:
        company_of(session, company_id)
    rows = search(session.table(Deal).all(), query, lambda deal: f"{deal.name} {deal.owner}")
    rows = [deal for deal in rows if (deal.stage == stage if stage else deal.stage not in CLOSED)]
    rows = [deal for deal in rows if company_id in (None, deal.company_id)]
    rows = [deal for deal in rows if activity is None or _is_stale(session, deal) == (activity == "stale")]
    rows.sort(key=lambda deal: (deal.close_date or date.max, deal.id))
    found = [DealSummary(deal.id, deal.name, deal.stage, deal.amount, deal.close_date) for deal in rows]
    return paginate(found, limit, offset)


def _is_stale(session: Session, deal: Deal) -> bool:
    latest = last_activity(session, deal.contact_id)
    return latest is None or session.now - latest > STALE_AFTER


@server.tool(read_only=True)
def get_sales_deal(session: Session, deal_id: DealId) -> DealDetails:
    """Show one sales deal: company, contact, owner, stage, amount, quote and last activity.

    Args:
        deal_id: the deal, from list_sales_deals.
    """
    deal = deal_of(session, deal_id)
    latest = last_activity(session, deal.contact_id)
    return DealDetails(
        id=deal.id,
        name=deal.name,
        company=company_of(session, deal.company_id).name,
        contact=contact_of(session, deal.contact_id).name,
        owner=deal.owner,
        stage=deal.stage,
        amount=deal.amount,
        close_date=deal.close_date,
        quote=quote_state(session, latest_quote(session, deal.id)),
        last_activity=latest.date() if latest else None,
        reason=deal.reason,
    )


@server.tool(idempotent=True)
def update_sales_deal(
    session: Session, deal_id: DealId, amount: Amount | None = None, close_date: Date | None = None
) -> DealFields:
    """Change an open deal's amount or expected close date.

    Args:
        deal_id: the deal, from list_sales_deals.
        amount: what it is worth, in the deal's currency.
        close_date: the day on which it may be won.

    Raises:
        nothing_to_change: neither was given.
        deal_closed: the deal is won or lost.
        amount_quoted: a pending or valid quote fixes the amount.
        invalid_amount: the currency has no such fraction.
        close_date_not_allowed: the day is past or too far ahead.
    """
    deal = open_deal(session, deal_id)
    if amount is None and close_date is None:
        raise ToolError(Fault.NOTHING_TO_CHANGE, "Give an amount or a close_date to change.")
    if amount is not None:
        value = money(amount, CURRENCY[company_of(session, deal.company_id).region], Fault.INVALID_AMOUNT)
        quote = latest_quote(session, deal.id)
        if quote and value != deal.amount and quote_state(session, quote) in ("pending", "approved"):
            until = (quote.made_at + QUOTE_VALIDITY).date()
            raise ToolError(
                Fault.AMOUNT_QUOTED,
                f"{deal.name} is quoted at {quote.total} until {until}; the amount can change after that.",
            )
        deal = replace(deal, amount=value)
    if close_date is not None:
        today = session.now.date()
        if not today <= close_date <= today + LATEST_CLOSE:
            raise ToolError(
                Fault.CLOSE_DATE_NOT_ALLOWED, f"The close date must lie between {today} and {today + LATEST_CLOSE}."
            )
        deal = replace(deal, close_date=close_date)
    session.table(Deal).put(deal)
    return DealFields(deal.id, deal.name, deal.amount, deal.close_date)


def _check_reason(stage: Stage, reason: Reason | None) -> None:
    if stage not in CLOSED:
        if reason is not None:
            raise ToolError(Fault.REASON_NOT_ALLOWED, f"A reason goes with won or lost only, not with {stage}.")
        return
    known = ", ".join(REASONS[stage])
    if reason is None:
        raise ToolError(Fault.REASON_REQUIRED, f"A {stage} deal needs a reason: {known}. Ask the user for it.")
    if reason not in REASONS[stage]:
        raise ToolError(Fault.REASON_NOT_ALLOWED, f"{reason} is no reason for a {stage} deal; choose from {known}.")


def _check_ready(session: Session, deal: Deal, stage: Stage) -> None:
    """Refuse a stage whose required fields are empty or whose quote does not hold."""
    needed = {"proposal": ("amount",), "negotiation": ("amount", "close_date"), "won": ("amount", "close_date")}
    for name in needed.get(stage, ()):
        if getattr(deal, name) is None:
            raise ToolError(Fault.MISSING_FIELD, f"{stage} needs the {name} of {deal.name}; update_sales_deal sets it.")
    if stage in ("negotiation", "won"):
        check_quote(session, deal)


@server.tool()
def move_deal_stage(session: Session, deal_id: DealId, stage: Stage, reason: Reason | None = None) -> Staged:
    """Move a deal to another pipeline stage; won and lost close it and need a reason.

    The way is discovery, proposal, negotiation, won; negotiation needs a valid quote.

    Args:
        deal_id: the deal, from list_sales_deals.
        stage: the stage to move to.
        reason: why it was won or lost, only for these two.

    Raises:
        stage_not_allowed: the pipeline has no such step.
        reason_required: won and lost need a reason.
        reason_not_allowed: the reason does not fit the stage.
        missing_field: the amount or the close date is not set.
        quote_missing: there is no quote.
        quote_pending: the discount is not approved yet.
        quote_expired: the quote has run out.
        reopen_window_closed: the deal was lost more than 60 days ago.
    """
    deal = deal_of(session, deal_id)
    if stage not in PIPELINE[deal.stage]:
        ways = " or ".join(PIPELINE[deal.stage])
        advice = f"can go to {ways}" if ways else "stays there"
        raise ToolError(Fault.STAGE_NOT_ALLOWED, f"{deal.name} is in {deal.stage} and {advice}.")
    if deal.stage == "lost" and session.now > deal.stage_since + REOPEN_WINDOW:
        raise ToolError(
            Fault.REOPEN_WINDOW_CLOSED,
            f"{deal.name} was lost on {deal.close_date}; a deal can be reopened for {REOPEN_WINDOW.days} days only.",
        )
    _check_reason(stage, reason)
    _check_ready(session, deal, stage)
    close = session.now.date() if stage in CLOSED else None if deal.stage == "lost" else deal.close_date
    session.table(Deal).put(replace(deal, stage=stage, stage_since=session.now, reason=reason, close_date=close))
    return Staged(deal.id, stage, PROBABILITY[stage], reason)


@server.tool()
def reassign_sales_deal(session: Session, deal_id: DealId, new_owner: RepName) -> Owned:
    """Hand an open deal to another active sales rep of the same region who has room.

    Args:
        deal_id: the deal, from list_sales_deals.
        new_owner: the rep's user name, from get_sales_forecast.

    Raises:
        deal_closed: the deal is won or lost.
        same_owner: the rep owns it already.
        rep_inactive: the rep has left.
        territory_mismatch: the rep sells in another region.
        rep_at_capacity: the rep has as many open deals as they may.
    """
    deal, rep = open_deal(session, deal_id), rep_of(session, new_owner)
    region = company_of(session, deal.company_id).region
    free = [other.id for other in reps_with_room(session, region) if other.id != deal.owner]
    advice = f"{', '.join(free[:3])} could take it" if free else f"nobody in {region} has room now"
    if rep.id == deal.owner:
        raise ToolError(Fault.SAME_OWNER, f"{rep.name} owns {deal.name} already; {advice}.")
    if not rep.active:
        raise ToolError(Fault.REP_INACTIVE, f"{rep.name} no longer sells; {advice}.")
    if rep.region != region:
        raise ToolError(
            Fault.TERRITORY_MISMATCH, f"{rep.name} sells in {rep.region}, {deal.name} is in {region}; {advice}."
        )
    load = open_deals(session, rep.id)
    if load >= rep.deal_limit:
        raise ToolError(
            Fault.REP_AT_CAPACITY, f"{rep.name} has {load} open deals of at most {rep.deal_limit}; {advice}."
        )
    session.table(Deal).put(replace(deal, owner=rep.id))
    return Owned(deal.id, rep.id, load + 1)


@server.tool()
def create_deal_quote(
    session: Session, deal_id: DealId, discount_percent: Annotated[int, Field(ge=0, le=90)]
) -> Quoted:
    """Quote a deal in proposal or negotiation at a discount; above 10% it waits for approval.

    Args:
        deal_id: the deal, from list_sales_deals.
        discount_percent: whole per cent off its amount, at most 25.

    Raises:
        deal_closed: the deal is won or lost.
        stage_not_allowed: the deal is still in discovery.
        discount_too_high: nobody may grant more than 25 per cent.
        do_not_contact: the deal's contact opted out.
        quote_pending: an earlier quote waits for approval.
        quote_valid: a valid quote gives as much or more off.
    """
    deal = open_deal(session, deal_id)
    if deal.stage == "discovery" or deal.amount is None:
        raise ToolError(
            Fault.STAGE_NOT_ALLOWED, f"{deal.name} is in {deal.stage}; move_deal_stage to proposal comes first."
        )
    if discount_percent > TOP_DISCOUNT:
        raise ToolError(Fault.DISCOUNT_TOO_HIGH, f"At most {TOP_DISCOUNT}% can be granted; above 10% needs approval.")
    check_reachable(contact_of(session, deal.contact_id))
    before = latest_quote(session, deal.id)
    state = quote_state(session, before)
    if state == "pending":
        check_quote(session, deal)
    if before and state == "approved" and before.discount >= discount_percent:
        until = (before.made_at + QUOTE_VALIDITY).date()
        raise ToolError(
            Fault.QUOTE_VALID, f"A quote with {before.discount}% off holds until {until}; only a higher discount helps."
        )
    total = deal.amount.share(100 - discount_percent, 100)
    quote = Quote(session.new_id("QUOT"), deal.id, discount_percent, total, session.now)
    session.table(Quote).add(quote)
    valid_until = (quote.made_at + QUOTE_VALIDITY).date()
    return Quoted(deal.id, total, discount_percent, quote_state(session, quote), valid_until)


def _quarter_of(day: date | datetime) -> str:
    return f"{day.year}-Q{(day.month + 2) // 3}"


@server.tool(read_only=True)
def get_sales_forecast(
    session: Session,
    query: Query = "",
    quarter: Quarter | None = None,
    region: Region | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[RepForecast]:
    """List active sales reps with user name, open deals, weighted forecast and wins of a quarter.

    Ordered by name, then user name.

    Args:
        query: words of the rep's name or user name.
        quarter: such as 2026-Q1; the present one when left out.
        region: only reps of this region.
        limit: most reps to return.
        offset: how many to skip.
    """
    wanted = quarter or _quarter_of(session.now)
    reps = search(session.table(Rep).where(active=True), query, lambda rep: f"{rep.name} {rep.id}")
    reps = sorted((rep for rep in reps if region in (None, rep.region)), key=lambda rep: (rep.name, rep.id))
    return paginate([_forecast(session, rep, wanted) for rep in reps], limit, offset)


def _forecast(session: Session, rep: Rep, quarter: str) -> RepForecast:
    weighted = won = Money(0, CURRENCY[rep.region])
    lost = 0
    for deal in session.table(Deal).where(owner=rep.id):
        if deal.close_date is None or _quarter_of(deal.close_date) != quarter:
            continue
        if deal.stage == "won" and deal.amount:
            quote = latest_quote(session, deal.id)
            won += quote.total if quote else deal.amount
        elif deal.stage == "lost":
            lost += 1
        elif deal.amount:
            weighted += deal.amount.share(PROBABILITY[deal.stage], 100)
    return RepForecast(rep.id, rep.name, open_deals(session, rep.id), weighted, won, lost)
