"""The types that tool signatures are written in.

Identifiers are typed (`Annotated[str, Entity("account")]`) in parameters and results alike: explicit
dependencies, live-state sampling, provenance and distractors all read that one annotation. Amounts
are JSON numbers with at most two decimals on the way in, integer minor units inside, and text such as
"25.50 USD" on the way out. Times are ISO 8601.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

MINOR_DIGITS = {"USD": 2, "EUR": 2, "GBP": 2, "CHF": 2, "CAD": 2, "SEK": 2, "PLN": 2, "INR": 2, "JPY": 0}
"""Decimals of each currency in use (ISO 4217)."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Marks a string as the identifier of one kind of thing.

    Args:
        name: the kind, in snake_case, unique over all servers unless it is meant to be shared.
        natural: a person knows this identifier by heart (a path, an e-mail address, an issue key), so
            a request may mention it. Opaque ones are found by a lookup tool instead.
    """

    name: str
    natural: bool = False

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core)
        schema["x-entity"] = self.name
        if self.natural:
            schema["x-natural"] = True
        return schema


@dataclass(frozen=True, slots=True)
class Sensitive:
    """Marks a parameter that only the user or an earlier result may supply (PIN, password, card number)."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core)
        schema["x-sensitive"] = True
        return schema


Hidden = Field(exclude=True)
"""Marks a record's column that no tool result ever shows: `pin: Annotated[str, Hidden]`."""


@dataclass(frozen=True, slots=True, order=True)
class Money:
    """An amount in integer minor units of one currency. Shown as `25.50 USD`."""

    minor: int
    currency: str

    @classmethod
    def of(cls, amount: Decimal | int, currency: str) -> Money:
        """From major units; digits beyond the currency's smallest unit are refused.

        Raises:
            ValueError: the currency has fewer decimals than the amount.
        """
        scaled = Decimal(amount).scaleb(MINOR_DIGITS[currency])
        if scaled != scaled.to_integral_value():
            raise ValueError(f"{currency} has {MINOR_DIGITS[currency]} decimals, {amount} has more")
        return cls(int(scaled), currency)

    def _same(self, other: Money) -> None:
        if self.currency != other.currency:
            raise ValueError(f"cannot mix {self.currency} and {other.currency}")

    def __add__(self, other: Money) -> Money:
        self._same(other)
        return Money(self.minor + other.minor, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._same(other)
        return Money(self.minor - other.minor, self.currency)

    def __mul__(self, factor: int) -> Money:
        return Money(self.minor * factor, self.currency)

    def share(self, numerator: int, denominator: int) -> Money:
        """This fraction of the amount, halves rounded away from zero."""
        whole = abs(self.minor) * numerator * 2 + denominator
        return Money((1 if self.minor >= 0 else -1) * (whole // (2 * denominator)), self.currency)

    def __str__(self) -> str:
        digits = MINOR_DIGITS[self.currency]
        units, rest = divmod(abs(self.minor), 10**digits)
        sign = "-" if self.minor < 0 else ""
        return f"{sign}{units}.{rest:0{digits}d} {self.currency}" if digits else f"{sign}{units} {self.currency}"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.is_instance_schema(
            cls,
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "description": "amount and currency, as in 25.50 USD"}


def _integral(value: object) -> object:
    """JSON knows one kind of number: 100.0 is the integer 100. Strings and booleans are not numbers."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    return value


def _amount(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("an amount is a JSON number such as 25.5")
    if not 0 < value <= 1_000_000_000:
        raise ValueError("an amount lies above 0 and is at most 1000000000")
    amount = Decimal(repr(value)).normalize()
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -2:
        raise ValueError("an amount has at most two decimals")
    return amount


def _text(value: object, example: str) -> str:
    if not isinstance(value, str) or len(value) > 40 or not value.isascii():
        raise ValueError(f"expected ISO 8601 text such as {example}")
    return value


def _datetime(value: object) -> datetime:
    text = _text(value, "2026-03-05T14:30:00Z")
    if not re.match(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}", text):
        raise ValueError("expected a date and a time such as 2026-03-05T14:30:00Z")
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    if not 1970 <= moment.year <= 2100:
        raise ValueError("the year must lie between 1970 and 2100")
    return moment.astimezone(UTC).replace(microsecond=0)


def _date(value: object) -> date:
    text = _text(value, "2026-03-05")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        raise ValueError("expected a date such as 2026-03-05")
    day = date.fromisoformat(text)
    if not 1900 <= day.year <= 2100:
        raise ValueError("the year must lie between 1900 and 2100")
    return day


def _time(value: object) -> time:
    text = _text(value, "14:30")
    if not re.fullmatch(r"\d{2}:\d{2}", text):
        raise ValueError("expected a time of day such as 14:30")
    return time.fromisoformat(text)


Integral = BeforeValidator(_integral)
"""Added to every `int` parameter by the tool decorator; write it yourself only inside containers."""

Amount: TypeAlias = Annotated[
    Decimal,
    BeforeValidator(_amount),
    WithJsonSchema({"type": "number", "minimum": 0.01, "maximum": 1_000_000_000}),
]
"""A positive amount of money in major units; the tool knows the currency."""

DateTime: TypeAlias = Annotated[
    datetime, BeforeValidator(_datetime), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""A moment, ISO 8601; without an offset it is read in UTC. A parameter type: records use `datetime`."""

Date: TypeAlias = Annotated[date, BeforeValidator(_date), WithJsonSchema({"type": "string", "format": "date"})]
"""A calendar day, YYYY-MM-DD."""

TimeOfDay: TypeAlias = Annotated[
    time, BeforeValidator(_time), WithJsonSchema({"type": "string", "pattern": r"^\d{2}:\d{2}$"})
]
"""A time of day, HH:MM."""
