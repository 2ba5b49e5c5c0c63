"""How arguments are read: strictly, by one rule for each JSON type, with errors that repair the call."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import Field

from servers.kernel.catalog import Catalog
from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from servers.kernel.store import Record
from servers.kernel.types import Amount, Date, DateTime, Money


class Fault(StrEnum):
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Note(Record):
    text: str


@dataclass(frozen=True, slots=True)
class Echo:
    value: str


def make(handler: Any) -> tuple[Catalog, Session]:
    server = ToolServer("banking", "test", records=(Note,), seed=lambda make: [Note("N-1", "seed")], faults=Fault)
    server.tool(read_only=True)(handler)
    catalog = Catalog([server])
    return catalog, Session(catalog.world(0))


def count(session: Session, n: Annotated[int, Field(ge=0, le=200)]) -> Echo:
    """Echo a number.

    Args:
        n: the number.
    """
    return Echo(repr(n))


def text(session: Session, value: str, other: str = "none") -> Echo:
    """Echo a text.

    Args:
        value: the text.
        other: another one.
    """
    return Echo(value)


def when(session: Session, amount: Amount, on: Date, at: DateTime) -> Echo:
    """Echo an amount and two moments.

    Args:
        amount: money.
        on: a day.
        at: a moment.
    """
    return Echo(f"{amount} {on} {at.isoformat()}")


@pytest.mark.parametrize("spelling", [100, 100.0, 1e2])
def test_an_integral_number_is_an_integer(spelling: object) -> None:
    catalog, session = make(count)
    assert catalog.call(session, "count", {"n": spelling}).text == '{"value":"100"}'


@pytest.mark.parametrize("bad", ["100", True, 10**30, float("nan"), float("inf"), 1.5, None, [100], -1, 201])
def test_anything_else_is_not(bad: object) -> None:
    catalog, session = make(count)
    outcome = catalog.call(session, "count", {"n": bad})
    assert outcome.error_code == KernelFault.INVALID_ARGUMENTS and "'n'" in outcome.text


@pytest.mark.parametrize("value", ["123", "007", "1e999", "true", "null", "[1]", "", "é", "\0"])
def test_strings_stay_what_they_are(value: str) -> None:
    catalog, session = make(text)
    outcome = catalog.call(session, "text", {"value": value})
    assert outcome.ok and __import__("json").loads(outcome.text) == {"value": value}


@pytest.mark.parametrize("value", [123, 1.0, True, None, ["x"], {"a": 1}, "\ud800", "x" * 20_001])
def test_nothing_becomes_a_string(value: object) -> None:
    catalog, session = make(text)
    assert catalog.call(session, "text", {"value": value}).error_code == KernelFault.INVALID_ARGUMENTS


def test_complaints_name_the_argument_and_the_cure() -> None:
    catalog, session = make(text)
    message = catalog.call(session, "text", {"valeu": "x"}).text
    assert "required argument 'value' is missing" in message and "did you mean 'value'" in message
    assert "leave it out" in catalog.call(session, "text", {"value": "x", "other": None}).text
    huge = catalog.call(session, "text", {"value": "ok", "x" * 100_000: "y" * 100_000}).text
    assert len(huge) < 500


@pytest.mark.parametrize(
    ("amount", "ok"), [(25, True), (25.0, True), (0.01, True), (1e9, True), (0, False), (-3, False), (0.001, False),
                       ("25", False), (True, False), (2e9, False), (float("nan"), False)],
)  # fmt: skip
def test_amounts(amount: object, ok: bool) -> None:
    catalog, session = make(when)
    outcome = catalog.call(session, "when", {"amount": amount, "on": "2026-03-05", "at": "2026-03-05T10:00"})
    assert outcome.ok == ok, outcome.text


def test_times_are_read_in_utc() -> None:
    catalog, session = make(when)
    texts = {
        catalog.call(session, "when", {"amount": 1, "on": "2026-03-05", "at": at}).text
        for at in ("2026-03-05T10:00", "2026-03-05T10:00:00Z", "2026-03-05T11:00:00+01:00", "2026-03-05 10:00")
    }
    assert texts == {'{"value":"1 2026-03-05 2026-03-05T10:00:00+00:00"}'}
    for bad in ("tomorrow", "2026-02-30T10:00", "05.03.2026", 5, "9" * 5000, "0001-01-01T00:00"):
        outcome = catalog.call(session, "when", {"amount": 1, "on": "2026-03-05", "at": bad})
        assert outcome.error_code == KernelFault.INVALID_ARGUMENTS


def test_schema_says_what_the_validator_does() -> None:
    catalog, _ = make(text)
    schema = catalog.entry("text").tool.input_schema
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["value"]
    assert schema["properties"]["other"] == {"default": "none", "description": "another one.", "type": "string"}


def test_ranges_are_published() -> None:
    catalog, _ = make(count)
    schema = catalog.entry("count").tool.input_schema["properties"]["n"]
    assert schema == {"description": "the number.", "minimum": 0, "maximum": 200, "type": "integer"}


def test_tools_must_be_documented_and_return_objects() -> None:
    def silent(session: Session) -> Echo:
        return Echo("")

    def listing(session: Session) -> list[str]:
        """List."""
        return []

    for bad in (silent, listing):
        with pytest.raises(TypeError):
            make(bad)


def test_an_internal_error_is_hidden_and_contained(caplog: pytest.LogCaptureFixture) -> None:
    def broken(session: Session) -> Echo:
        """Break."""
        session.table(Note).put(Note("N-1", "changed"))
        raise ZeroDivisionError("secret path /etc")

    catalog, session = make(broken)
    before = session.state_hash
    outcome = catalog.call(session, "broken", {})
    assert outcome.error_code == KernelFault.INTERNAL and "secret" not in outcome.text
    assert session.state_hash == before and session.table(Note).get("N-1") == Note("N-1", "seed")
    assert "ZeroDivisionError" in caplog.text


def test_money() -> None:
    assert str(Money(2550, "USD")) == "25.50 USD" and str(Money(-5, "EUR")) == "-0.05 EUR"
    assert str(Money(300, "JPY")) == "300 JPY" and str(Money(-7, "JPY")) == "-7 JPY"
    assert str(Money(0, "USD")) == "0.00 USD" and str(Money(-1_234_567, "GBP")) == "-12345.67 GBP"
    assert Money(1000, "USD").share(1, 3) == Money(333, "USD") and Money(-5, "USD").share(1, 2) == Money(-3, "USD")
    with pytest.raises(ValueError, match="mix"):
        Money(1, "USD") + Money(1, "EUR")


def test_tool_error_keeps_its_code() -> None:
    def full(session: Session) -> Echo:
        """Refuse.

        Raises:
            full: always.
        """
        raise ToolError(Fault.FULL, "No room; remove something first.")

    catalog, session = make(full)
    assert catalog.call(session, "full", {}).text == (
        '{"error":{"code":"full","message":"No room; remove something first."}}'
    )
