"""Ground truth: which calls count, and which depend on which."""

from __future__ import annotations

from servers.kernel.catalog import load_catalog
from servers.kernel.session import Session
from stages.records import ExecutedCall, Json
from stages.synthesize.truth import ground_truth

CATALOG = load_catalog(("banking",))


class Log:
    """Runs calls and records them as an episode would."""

    def __init__(self) -> None:
        self.session = Session(CATALOG.world(0))
        self.calls: list[ExecutedCall] = []

    def run(self, position: int, name: str, **arguments: Json) -> str:
        outcome = CATALOG.call(self.session, name, arguments)
        done = ExecutedCall(name, arguments, position, True, outcome.ok, outcome.text, outcome.error_code)
        self.calls.append(done)
        return outcome.text

    def edges(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(call.name, call.depends_on) for call in ground_truth(CATALOG, self.calls)]


def first_id(kind: str) -> str:
    rows = CATALOG.world(0).rows.tables[f"banking.{kind}"]
    return next(key for key, row in rows.items() if getattr(row, "status", "active") == "active")


def test_a_call_depends_on_the_call_that_first_showed_its_identifier() -> None:
    log, account = Log(), first_id("Account")
    log.run(1, "list_accounts")
    log.run(3, "get_account", account_id=account)
    log.run(5, "list_transactions", account_id=account)
    assert log.edges() == [("list_accounts", ()), ("get_account", (0,)), ("list_transactions", (0,))]


def test_an_identifier_that_nothing_in_the_turn_showed_has_no_source() -> None:
    log = Log()
    log.run(1, "list_cards")
    log.run(3, "get_account", account_id=first_id("Account"))
    assert log.edges() == [("list_cards", ()), ("get_account", ())]


def test_two_sources_are_both_named() -> None:
    log = Log()
    log.run(1, "list_payees", limit=50)
    log.run(1, "list_accounts")
    rows = CATALOG.world(0).rows.tables
    for number, (payee, row) in enumerate(rows["banking.Payee"].items()):
        account = first_id("Account")
        pin = getattr(rows["banking.Account"][account], "pin")  # noqa: B009
        arguments = {"source_account_id": account, "payee_id": payee, "amount": 1, "pin": pin}
        log.run(3 + 2 * number, "send_payment", **arguments)
        if log.calls[-1].ok:
            assert log.edges()[-1] == ("send_payment", (0, 1)), row
            return
    raise AssertionError("nobody could be paid")


def test_failed_and_unreadable_calls_are_left_out_and_indices_follow() -> None:
    log, card = Log(), first_id("Card")
    log.run(1, "freeze_card", card_id="Everyday Checking Debit")
    log.calls.append(ExecutedCall("freeze_card", None, 1, executed=False, ok=False))
    log.run(3, "list_cards")
    log.run(5, "freeze_card", card_id=card)
    log.run(7, "freeze_card", card_id=card)
    assert log.edges() == [("list_cards", ()), ("freeze_card", (0,))]


def test_parallel_calls_do_not_depend_on_each_other() -> None:
    log, account = Log(), first_id("Account")
    log.run(1, "list_accounts")
    log.run(1, "get_account", account_id=account)
    log.run(3, "get_account", account_id=account)
    assert log.edges() == [("list_accounts", ()), ("get_account", ()), ("get_account", (0,))]
