"""The CRM: each of its error codes is reached, and its pipeline stays consistent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from servers.crm.model import CURRENCY, PIPELINE, Activity, Company, Contact, Deal, Fault, Lead, Quote, Rep
from servers.kernel.store import Record
from tests.servers.play import Play


def some(play: Play, kind: type, **wanted: Any) -> Any:
    return next(row for row in play.rows(kind) if all(getattr(row, name) == value for name, value in wanted.items()))


def arrange(play: Play, row: Record) -> None:
    """Bring a row into a state that only time or other people would."""
    play.session.table(type(row)).put(row)
    play.session.commit("arrange", {})


def deal(play: Play, stage: str, **wanted: Any) -> Deal:
    """A deal that has its amount and close date, whose contact may be reached, and that has no quote."""
    quoted = {row.deal_id for row in play.rows(Quote)}
    closed_to = {row.id for row in play.rows(Contact) if row.opted_out_at}
    found = next(
        row
        for row in play.rows(Deal)
        if row.stage == stage and row.amount and row.contact_id not in closed_to and row.id not in quoted
    )
    arrange(play, replace(found, close_date=play.session.now.date() + timedelta(days=20), **wanted))
    return some(play, Deal, id=found.id)


def lead(play: Play, status: str) -> Lead:
    return some(play, Lead, status=status)


def convertible(play: Play) -> Lead:
    since = play.session.now - timedelta(days=40)
    return next(row for row in play.rows(Lead) if row.status == "qualified" and row.qualified_at > since)


def duplicate_lead(play: Play) -> None:
    for kind in (Lead, Contact):
        arguments = {"name": "Olga Brandt", "company": "Kite", "region": "uk", "email": play.rows(kind)[0].email}
        play.fails("duplicate_lead", "create_lead", **arguments)


def lead_converted(play: Play) -> None:
    row = convertible(play)
    play.ok("convert_lead", lead_id=row.id, deal_name="Pilot")
    play.fails("lead_converted", "convert_lead", lead_id=row.id, deal_name="Pilot")
    play.fails("lead_converted", "set_lead_status", lead_id=row.id, status="contacted")


def lead_step_not_allowed(play: Play) -> None:
    message = play.fails("lead_step_not_allowed", "set_lead_status", lead_id=lead(play, "new").id, status="qualified")
    assert "contacted or disqualified" in message


def lead_not_qualified(play: Play) -> None:
    for status, way in (("new", "contacted and then "), ("contacted", ""), ("disqualified", "contacted and then ")):
        arguments = {"lead_id": lead(play, status).id, "deal_name": "Pilot"}
        message = play.fails("lead_not_qualified", "convert_lead", **arguments)
        assert f"set_lead_status to {way}qualified" in message


def qualification_expired(play: Play) -> None:
    row = convertible(play)
    play.wait(days=46)
    play.fails("qualification_expired", "convert_lead", lead_id=row.id, deal_name="Pilot")
    play.ok("set_lead_status", lead_id=row.id, status="contacted")
    play.ok("set_lead_status", lead_id=row.id, status="qualified")
    play.ok("convert_lead", lead_id=row.id, deal_name="Pilot")


def no_rep_available(play: Play) -> None:
    row = convertible(play)
    for rep in play.rows(Rep):
        arrange(play, replace(rep, deal_limit=0))
    play.fails("no_rep_available", "convert_lead", lead_id=row.id, deal_name="Pilot")


def reason_required(play: Play) -> None:
    play.fails("reason_required", "set_lead_status", lead_id=lead(play, "new").id, status="disqualified")
    play.fails("reason_required", "move_deal_stage", deal_id=deal(play, "proposal").id, stage="lost")


def reason_not_allowed(play: Play) -> None:
    row = deal(play, "proposal")
    play.fails("reason_not_allowed", "move_deal_stage", deal_id=row.id, stage="lost", reason="relationship")
    play.fails("reason_not_allowed", "move_deal_stage", deal_id=row.id, stage="discovery", reason="price")
    arguments = {"lead_id": lead(play, "new").id, "status": "contacted", "reason": "no budget"}
    play.fails("reason_not_allowed", "set_lead_status", **arguments)


def no_duplicate(play: Play) -> None:
    play.fails("no_duplicate", "merge_duplicate_contact", contact_id=play.rows(Contact)[0].id)


def opted_out(play: Play) -> Contact:
    return next(row for row in play.rows(Contact) if row.opted_out_at)


def do_not_contact(play: Play) -> None:
    arguments = {"contact_id": opted_out(play).id, "text": "asked for a call"}
    play.fails("do_not_contact", "log_crm_activity", kind="call", **arguments)
    play.ok("log_crm_activity", kind="note", **arguments)
    row = deal(play, "proposal", contact_id=opted_out(play).id)
    play.fails("do_not_contact", "create_deal_quote", deal_id=row.id, discount_percent=5)


def contacted_too_often(play: Play) -> None:
    arguments = {"contact_id": next(row for row in play.rows(Contact) if not row.opted_out_at).id, "kind": "call"}
    play.ok("log_crm_activity", text="no answer", **arguments)
    play.ok("log_crm_activity", text="busy", **arguments)
    play.fails("contacted_too_often", "log_crm_activity", text="again", **arguments)
    play.wait(hours=25)
    play.ok("log_crm_activity", text="reached", **arguments)


def consent_unchanged(play: Play) -> None:
    play.fails("consent_unchanged", "set_contact_consent", contact_id=opted_out(play).id, consent="refuse")


def opt_out_too_recent(play: Play) -> None:
    contact = next(row for row in play.rows(Contact) if not row.opted_out_at)
    play.ok("set_contact_consent", contact_id=contact.id, consent="refuse")
    play.fails("opt_out_too_recent", "set_contact_consent", contact_id=contact.id, consent="allow")
    play.wait(days=31)
    assert play.ok("set_contact_consent", contact_id=contact.id, consent="allow")["do_not_contact"] is False


def nothing_to_change(play: Play) -> None:
    play.fails("nothing_to_change", "update_sales_deal", deal_id=deal(play, "proposal").id)


def deal_closed(play: Play) -> None:
    play.fails("deal_closed", "update_sales_deal", deal_id=some(play, Deal, stage="won").id, amount=10)
    play.fails("deal_closed", "create_deal_quote", deal_id=some(play, Deal, stage="lost").id, discount_percent=5)


def close_date_not_allowed(play: Play) -> None:
    for day in ("2026-03-01", "2028-01-01"):
        play.fails("close_date_not_allowed", "update_sales_deal", deal_id=deal(play, "proposal").id, close_date=day)


def amount_quoted(play: Play) -> None:
    row = deal(play, "proposal")
    play.ok("create_deal_quote", deal_id=row.id, discount_percent=5)
    play.fails("amount_quoted", "update_sales_deal", deal_id=row.id, amount=77)
    play.wait(days=31)
    play.ok("update_sales_deal", deal_id=row.id, amount=77)


def invalid_amount(play: Play) -> None:
    japan = {row.id for row in play.rows(Company) if row.region == "japan"}
    row = next(row for row in play.rows(Deal) if row.company_id in japan and row.stage == "discovery")
    play.fails("invalid_amount", "update_sales_deal", deal_id=row.id, amount=10.5)


def stage_not_allowed(play: Play) -> None:
    play.fails("stage_not_allowed", "move_deal_stage", deal_id=deal(play, "discovery").id, stage="negotiation")
    play.fails("stage_not_allowed", "create_deal_quote", deal_id=deal(play, "discovery").id, discount_percent=5)


def missing_field(play: Play) -> None:
    row = some(play, Deal, stage="discovery", amount=None)
    assert "amount" in play.fails("missing_field", "move_deal_stage", deal_id=row.id, stage="proposal")
    play.ok("update_sales_deal", deal_id=row.id, amount=5000)
    play.ok("move_deal_stage", deal_id=row.id, stage="proposal")


def quote_missing(play: Play) -> None:
    row = deal(play, "proposal")
    play.fails("quote_missing", "move_deal_stage", deal_id=row.id, stage="negotiation")
    play.ok("create_deal_quote", deal_id=row.id, discount_percent=10)
    assert play.ok("move_deal_stage", deal_id=row.id, stage="negotiation")["probability"] == 70


def quote_pending(play: Play) -> None:
    row = deal(play, "proposal")
    assert play.ok("create_deal_quote", deal_id=row.id, discount_percent=20)["state"] == "pending"
    play.fails("quote_pending", "move_deal_stage", deal_id=row.id, stage="negotiation")
    play.fails("quote_pending", "create_deal_quote", deal_id=row.id, discount_percent=25)
    play.wait(hours=4)
    play.ok("move_deal_stage", deal_id=row.id, stage="negotiation")


def quote_expired(play: Play) -> None:
    row = deal(play, "proposal")
    play.ok("create_deal_quote", deal_id=row.id, discount_percent=5)
    play.wait(days=30)
    assert play.ok("get_sales_deal", deal_id=row.id)["quote"] == "expired"
    play.fails("quote_expired", "move_deal_stage", deal_id=row.id, stage="negotiation")


def quote_valid(play: Play) -> None:
    row = deal(play, "proposal")
    play.ok("create_deal_quote", deal_id=row.id, discount_percent=8)
    play.fails("quote_valid", "create_deal_quote", deal_id=row.id, discount_percent=8)
    play.ok("create_deal_quote", deal_id=row.id, discount_percent=9)


def discount_too_high(play: Play) -> None:
    play.fails("discount_too_high", "create_deal_quote", deal_id=deal(play, "proposal").id, discount_percent=26)


def reopen_window_closed(play: Play) -> None:
    row = deal(play, "proposal")
    play.ok("move_deal_stage", deal_id=row.id, stage="lost", reason="timing")
    reopen = {"deal_id": row.id, "stage": "discovery"}
    fork = play.session.fork()
    assert play.catalog.call(fork, "move_deal_stage", reopen).ok
    play.wait(days=61)
    play.fails("reopen_window_closed", "move_deal_stage", **reopen)


def colleague(play: Play, row: Deal, same_region: bool = True, active: bool = True) -> Rep:
    region = some(play, Company, id=row.company_id).region
    reps = [rep for rep in play.rows(Rep) if (rep.region == region) == same_region and rep.id != row.owner]
    return next(rep for rep in reps if rep.active == active)


def same_owner(play: Play) -> None:
    row = deal(play, "proposal")
    play.fails("same_owner", "reassign_sales_deal", deal_id=row.id, new_owner=row.owner)


def rep_inactive(play: Play) -> None:
    row = deal(play, "proposal")
    rep = colleague(play, row)
    arrange(play, replace(rep, active=False))
    play.fails("rep_inactive", "reassign_sales_deal", deal_id=row.id, new_owner=rep.id)


def territory_mismatch(play: Play) -> None:
    row = deal(play, "proposal")
    play.fails(
        "territory_mismatch",
        "reassign_sales_deal",
        deal_id=row.id,
        new_owner=colleague(play, row, same_region=False).id,
    )


def rep_at_capacity(play: Play) -> None:
    row = deal(play, "proposal")
    rep = colleague(play, row)
    arrange(play, replace(rep, deal_limit=0))
    play.fails("rep_at_capacity", "reassign_sales_deal", deal_id=row.id, new_owner=rep.id)
    arrange(play, replace(rep, deal_limit=50))
    assert play.ok("reassign_sales_deal", deal_id=row.id, new_owner=rep.id)["owner"] == rep.id


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("crm"))


@pytest.mark.parametrize("seed", range(4))
def test_seed_obeys_the_rules(seed: int) -> None:
    play = Play("crm", seed)
    companies = {row.id: row for row in play.rows(Company)}
    contacts = {row.id: row for row in play.rows(Contact)}
    reps = {row.id: row for row in play.rows(Rep)}
    for row in play.rows(Deal):
        region = companies[row.company_id].region
        assert contacts[row.contact_id].company_id == row.company_id
        assert reps[row.owner].region == region
        assert row.amount is None or row.amount.currency == CURRENCY[region]
        assert (row.reason is not None) == (row.stage in ("won", "lost"))
        assert row.stage in PIPELINE
    for rep in reps.values():
        load = sum(row.owner == rep.id and row.stage not in ("won", "lost") for row in play.rows(Deal))
        assert load <= rep.deal_limit
    assert len({row.email for row in contacts.values()}) == len(contacts)


def test_merging_keeps_deals_activities_and_the_opt_out() -> None:
    play = Play("crm")
    newer = play.ok("list_crm_contacts", mark="duplicate")["items"][0]
    deals, activities = len(play.rows(Deal)), len(play.rows(Activity))
    play.ok("set_contact_consent", contact_id=newer["id"], consent="refuse")
    kept = play.ok("merge_duplicate_contact", contact_id=newer["id"])["kept_contact_id"]
    assert (len(play.rows(Deal)), len(play.rows(Activity))) == (deals, activities)
    assert some(play, Contact, id=kept).opted_out_at is not None
    assert newer["id"] not in {row.contact_id for row in (*play.rows(Deal), *play.rows(Activity))}
    play.fails("not_found", "merge_duplicate_contact", contact_id=newer["id"])


def test_a_lead_becomes_revenue() -> None:
    play = Play("crm")
    made = play.ok("convert_lead", lead_id=convertible(play).id, deal_name="Warehouse Pilot", amount=1000)
    key = made["deal_id"]
    play.ok("update_sales_deal", deal_id=key, close_date="2026-03-20")
    before = play.ok("get_sales_forecast", query=made["owner"])["items"][0]
    play.ok("move_deal_stage", deal_id=key, stage="proposal")
    quote = play.ok("create_deal_quote", deal_id=key, discount_percent=10)
    play.ok("move_deal_stage", deal_id=key, stage="negotiation")
    play.ok("move_deal_stage", deal_id=key, stage="won", reason="product_fit")
    after = play.ok("get_sales_forecast", query=made["owner"])["items"][0]
    gain = float(after["won"].split()[0]) - float(before["won"].split()[0])
    assert gain == float(quote["total"].split()[0]) == 900
    assert after["open_deals"] == before["open_deals"] - 1
