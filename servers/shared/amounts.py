"""Amounts of money as tools are given them."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

from servers.kernel.errors import ToolError
from servers.kernel.types import Money


def money(amount: Decimal, currency: str, fault: StrEnum) -> Money:
    """An amount in a currency that may have no decimals.

    Raises:
        ToolError: `fault`, because the currency cannot express the amount.
    """
    try:
        return Money.of(amount, currency)
    except ValueError as error:
        raise ToolError(fault, f"{error}. Round the amount.") from None
