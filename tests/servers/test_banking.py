"""The bank: each of its error codes is reached, and money is neither made nor lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servers.banking.model import Account, Card, Fault, Payee, ScheduledPayment, Transaction
from servers.banking.seed import iban
from tests.servers.play import Play


def account(play: Play, name: str) -> Account:
    return next(row for row in play.rows(Account) if row.name == name)


def payee(play: Play, currency: str, firm: bool = True) -> Payee:
    busy = {row.payee_id for row in play.rows(ScheduledPayment)}
    return next(row for row in play.rows(Payee) if row.currency == currency and row.id not in busy)


def pay(play: Play, source: str = "Everyday Checking", **changes: object) -> dict[str, object]:
    row = account(play, source)
    target = payee(play, row.balance.currency)
    return {"source_account_id": row.id, "payee_id": target.id, "amount": 20, "pin": row.pin, **changes}


def card(play: Play, status: str) -> Card:
    return next(c for c in play.rows(Card) if c.status == status and c.expires >= play.session.now.date())


def account_frozen(play: Play) -> None:
    play.fails("account_frozen", "send_payment", **pay(play, "Old Student Account"))


def insufficient_funds(play: Play) -> None:
    source, target = account(play, "Everyday Checking"), account(play, "Rainy Day Savings")
    arguments = {"source_account_id": source.id, "target_account_id": target.id, "amount": 900_000}
    assert str(source.balance) in play.fails("insufficient_funds", "transfer_between_accounts", **arguments)


def currency_mismatch(play: Play) -> None:
    play.fails("currency_mismatch", "send_payment", **pay(play, payee_id=payee(play, "EUR").id))


def daily_limit_exceeded(play: Play) -> None:
    limit = account(play, "Everyday Checking").daily_limit.minor // 100
    play.ok("send_payment", **pay(play, amount=limit - 10))
    play.fails("daily_limit_exceeded", "send_payment", **pay(play, amount=20))


def wrong_pin(play: Play) -> None:
    play.fails("wrong_pin", "send_payment", **pay(play, pin="0000"))


def same_account(play: Play) -> None:
    one = account(play, "Vacation Fund").id
    play.fails("same_account", "transfer_between_accounts", source_account_id=one, target_account_id=one, amount=1)


def invalid_amount(play: Play) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("servers.kernel.types", fromlist=["x"]).MINOR_DIGITS, "USD", 0)
        play.fails("invalid_amount", "send_payment", **pay(play, amount=1.5))


def invalid_iban(play: Play) -> None:
    play.fails("invalid_iban", "add_payee", name="Nobody", iban_number="DE00" + "1" * 16)
    play.fails("invalid_iban", "add_payee", name="Nobody", iban_number="FR7630006000011234567890189")


def payee_exists(play: Play) -> None:
    play.fails("payee_exists", "add_payee", name="Again", iban_number=payee(play, "USD").iban)


def payee_cooling_off(play: Play) -> None:
    new = play.ok("add_payee", name="Kite School", iban_number=iban("US", 4_444_333_322_221_111))
    play.fails("payee_cooling_off", "send_payment", **pay(play, payee_id=new["id"]))
    play.fails("payee_cooling_off", "schedule_payment", **pay(play, payee_id=new["id"], payment_date="2026-03-03"))
    play.ok("schedule_payment", **pay(play, payee_id=new["id"], payment_date="2026-03-04"))
    play.wait(hours=25)
    play.ok("send_payment", **pay(play, payee_id=new["id"]))


def payee_in_use(play: Play) -> None:
    scheduled = play.rows(ScheduledPayment)[0]
    play.fails("payee_in_use", "remove_payee", payee_id=scheduled.payee_id)


def date_not_allowed(play: Play) -> None:
    play.fails("date_not_allowed", "schedule_payment", **pay(play, payment_date="2026-03-02"))


def already_sent(play: Play) -> None:
    scheduled = min(play.rows(ScheduledPayment), key=lambda row: row.on)
    before = play.ok("get_account", account_id=scheduled.account_id)["balance"]
    play.wait(days=(scheduled.on - play.session.now.date()).days)
    play.fails("already_sent", "cancel_scheduled_payment", scheduled_payment_id=scheduled.id)
    assert play.ok("get_account", account_id=scheduled.account_id)["balance"] != before


def card_not_active(play: Play) -> None:
    play.fails("card_not_active", "freeze_card", card_id=card(play, "frozen").id)
    play.fails("card_not_active", "set_card_limit", card_id=card(play, "frozen").id, daily_limit=100)


def card_not_frozen(play: Play) -> None:
    play.fails("card_not_frozen", "unfreeze_card", card_id=card(play, "active").id, pin="1234")


def card_expired(play: Play) -> None:
    old = account(play, "Old Student Account")
    for row in play.rows(Card):
        if row.account_id == old.id:
            play.fails("card_expired", "freeze_card", card_id=row.id)
            play.fails("card_expired", "unfreeze_card", card_id=row.id, pin=old.pin)
            play.fails("card_expired", "set_card_limit", card_id=row.id, daily_limit=100)


def limit_out_of_range(play: Play) -> None:
    play.fails("limit_out_of_range", "set_card_limit", card_id=card(play, "active").id, daily_limit=5001)


def outgoing(play: Play) -> Transaction:
    return max((row for row in play.rows(Transaction) if row.amount.minor < 0), key=lambda row: row.booked_at)


def not_disputable(play: Play) -> None:
    income = next(row for row in play.rows(Transaction) if row.amount.minor > 0)
    play.fails("not_disputable", "dispute_transaction", transaction_id=income.id, reason="not mine")


def already_disputed(play: Play) -> None:
    arguments = {"transaction_id": outgoing(play).id, "reason": "never ordered"}
    play.ok("dispute_transaction", **arguments)
    play.fails("already_disputed", "dispute_transaction", **arguments)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("banking"))


def test_transfer_keeps_the_sum() -> None:
    play = Play("banking")
    source, target = account(play, "Everyday Checking"), account(play, "Vacation Fund")
    total = source.balance + target.balance
    play.ok("transfer_between_accounts", source_account_id=source.id, target_account_id=target.id, amount=120.55)
    moved = account(play, "Everyday Checking"), account(play, "Vacation Fund")
    assert moved[0].balance + moved[1].balance == total
    assert moved[1].balance.minor - target.balance.minor == 12_055


def test_spelling_of_an_amount_does_not_matter() -> None:
    plays = [Play("banking") for _ in range(3)]
    results = [
        play.ok("send_payment", **pay(play, amount=amount))
        for play, amount in zip(plays, (25, 25.0, 2.5e1), strict=True)
    ]
    assert results[0] == results[1] == results[2]
    assert len({play.session.state_hash for play in plays}) == 1
    play = Play("banking")
    play.fails("invalid_arguments", "send_payment", **pay(play, amount="25"))


def leave(play: Play) -> ScheduledPayment:
    """A scheduled payment whose day has come."""
    row: ScheduledPayment = min(play.rows(ScheduledPayment), key=lambda row: (row.on, row.id))
    play.wait(days=(row.on - play.session.now.date()).days)
    return row


def test_a_scheduled_payment_is_booked_on_its_day() -> None:
    play = Play("banking")
    row = min(play.rows(ScheduledPayment), key=lambda row: (row.on, row.id))
    month = {"account_id": row.account_id, "month": f"{row.on:%Y-%m}"}
    coming = play.ok("list_scheduled_payments", account_id=row.account_id)["items"]
    assert (coming[0]["id"], coming[0]["payee"]) == (row.id, row.payee)
    before = play.ok("get_statement", **month)
    leave(play)
    newest = play.ok("list_transactions", account_id=row.account_id, query=row.payee)["items"][0]
    assert (newest["counterparty"], newest["amount"], newest["on"]) == (row.payee, f"-{row.amount}", str(row.on))
    after = play.ok("get_statement", **month)
    assert after["transactions"] == before["transactions"] + 1
    details = play.ok("get_account", account_id=row.account_id)
    limit = next(a.daily_limit for a in play.rows(Account) if a.id == row.account_id)
    assert details["left_today"] == str(limit - row.amount)


def test_a_scheduled_payment_that_left_can_be_disputed_and_its_payee_removed() -> None:
    play = Play("banking")
    row = leave(play)
    for other in play.rows(ScheduledPayment):
        if other.payee_id == row.payee_id and other.on > row.on:
            play.ok("cancel_scheduled_payment", scheduled_payment_id=other.id)
    play.ok("remove_payee", payee_id=row.payee_id)
    sight = {"account_id": row.account_id, "query": row.payee}
    booked = play.ok("list_transactions", **sight)["items"][0]
    assert "disputed" not in booked
    balance = play.ok("get_account", account_id=row.account_id)["balance"]
    play.ok("dispute_transaction", transaction_id=booked["id"], reason="I never agreed to it")
    assert play.ok("list_transactions", **sight)["items"][0] == {**booked, "disputed": True}
    assert play.ok("get_account", account_id=row.account_id)["balance"] == balance


def test_a_dispute_says_what_is_contested() -> None:
    play = Play("banking")
    row = outgoing(play)
    result = play.ok("dispute_transaction", transaction_id=row.id, reason="never ordered")
    assert result == {
        "transaction_id": row.id,
        "counterparty": row.counterparty,
        "amount": str(row.amount),
        "disputed": True,
    }


def test_expired_cards_are_shown_as_expired() -> None:
    play = Play("banking")
    today = play.session.now.date()
    shown = {item["id"] for item in play.ok("list_cards", status="expired")["items"]}
    assert shown == {row.id for row in play.rows(Card) if row.expires < today} != set()
