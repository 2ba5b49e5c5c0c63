"""The accounts of a stage's teachers: requests, tokens, dollars and failures, for each role and in total."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from stages.params import Role
from stages.teacher.errors import Failure


@dataclass(slots=True)
class Usage:
    """What one role asked and what came of it.

    `requests` were sent to the provider, `retries` of them because an earlier one failed; `cached` answers
    came from the cache and cost nothing now. `failures` counts requests by what was wrong with their answer,
    those that a retry or a repair made good included; `failed` counts the answers that never came.
    """

    requests: int = 0
    retries: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    failures: Counter[Failure] = field(default_factory=Counter)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.retries + other.retries,
            self.cached + other.cached,
            self.failed + other.failed,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
            self.failures + other.failures,
        )

    def figures(self) -> dict[str, float]:
        """Its numbers by name, failures as `failures/<kind>`."""
        kinds = {f"failures/{kind.value}": count for kind, count in sorted(self.failures.items())}
        return {
            "requests": self.requests,
            "retries": self.retries,
            "cached": self.cached,
            "failed": self.failed,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost": round(self.cost, 6),
            **kinds,
        }


@dataclass(slots=True)
class Ledger:
    """The usage of each role that was asked anything."""

    roles: dict[Role, Usage] = field(default_factory=dict)

    def of(self, role: Role) -> Usage:
        """The usage of a role, to be added to."""
        return self.roles.setdefault(role, Usage())

    @property
    def total(self) -> Usage:
        """All roles together."""
        return sum(self.roles.values(), Usage())

    def metrics(self) -> dict[str, float]:
        """Figures for tracking: `teacher/<figure>` in total, and `teacher/<role>/<figure>`."""
        figures = {f"teacher/{name}": value for name, value in self.total.figures().items()}
        for role, usage in sorted(self.roles.items()):
            figures |= {f"teacher/{role}/{name}": value for name, value in usage.figures().items()}
        return figures

    def summary(self) -> dict[str, Any]:
        """The same, nested, for a metrics file."""
        return {**self.total.figures(), "roles": {role: use.figures() for role, use in sorted(self.roles.items())}}

    def table(self) -> Table:
        """The accounts for a person to read."""
        table = Table("teacher", box=None, header_style="bold")
        for name in ("requests", "retries", "cached", "failed", "prompt tokens", "completion tokens", "US$"):
            table.add_column(name, justify="right")
        for name, use in (*sorted(self.roles.items()), ("total", self.total)):
            counts = (use.requests, use.retries, use.cached, use.failed, use.prompt_tokens, use.completion_tokens)
            table.add_row(name, *(f"{count:,}" for count in counts), f"{use.cost:,.4f}")
        return table
