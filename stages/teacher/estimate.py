"""What a stage would ask, and what that would cost, before anything is spent.

The stage is rehearsed: the scripted teacher answers in place of the real one, on a sample, and what the real
one would have been sent is counted. A real teacher's turns differ from the script's (it may look up more, err
more, or think aloud), so the figures tell the order of magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stages.params import Role, TeacherParams
from stages.progress import PLAIN_WIDTH
from stages.records import Message, ToolSpec
from stages.teacher.cache import Cache
from stages.teacher.client import Completion, Teacher
from stages.teacher.pricing import price_of, rough_tokens
from stages.teacher.team import Teachers


@dataclass(frozen=True, slots=True)
class Share:
    """What one role would be asked; `cost` in US dollars is None where the price is unknown."""

    role: Role
    model: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a stage would ask of its teachers."""

    shares: tuple[Share, ...]

    @property
    def cost(self) -> float | None:
        """US dollars for all roles, or None if one's price is unknown."""
        costs = [share.cost for share in self.shares if share.cost is not None]
        return sum(costs) if len(costs) == len(self.shares) else None

    def table(self) -> Table:
        """For a person to read."""
        table = Table("role", "model", box=None, header_style="bold")
        for name in ("requests", "prompt tokens", "completion tokens", "US$"):
            table.add_column(name, justify="right")
        for part in self.shares:
            counts = (part.requests, part.prompt_tokens, part.completion_tokens)
            table.add_row(part.role, part.model, *(f"{count:,}" for count in counts), _dollars(part.cost))
        shares = self.shares
        totals = [sum(s.requests for s in shares), sum(s.prompt_tokens for s in shares)]
        totals.append(sum(s.completion_tokens for s in shares))
        table.add_row("total", "", *(f"{count:,}" for count in totals), _dollars(self.cost))
        return table


class Rehearsal(Teachers):
    """Teachers that are never asked: the scripted one answers, and their accounts hold what they would be sent."""

    def of(self, role: Role) -> Teacher:
        """The stand-in for a role's teacher."""
        if role not in self._teachers:
            self._teachers[role] = _StandIn(self.params.of(role), role, self._shared)
        return self._teachers[role]

    def estimate(self, factor: float = 1.0) -> Estimate:
        """The accounts, scaled from the sample to the whole."""
        shares = []
        for role, use in sorted(self.ledger.roles.items()):
            params = self.params.of(role)
            price = price_of(params)
            requests, prompt, completion = (
                round(n * factor) for n in (use.requests, use.prompt_tokens, use.completion_tokens)
            )
            cost = price.of(prompt, completion) if price else None
            shares.append(Share(role, params.model, requests, prompt, completion, cost))
        return Estimate(tuple(shares))

    def show(self, about: str, factor: float = 1.0) -> None:
        """Print the estimate, with a remark on what it is about."""
        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(highlight=False, width=PLAIN_WIDTH)
        console.print(self.estimate(factor).table())
        console.print(Text(f"{about}. Estimated, nothing was sent; answers that are in the cache will cost nothing."))


class UnchangedCache(Cache):
    """A cache that a rehearsal may read: the script's answers are not to be taken for the teacher's."""

    def put(self, key: str, answer: Mapping[str, Any]) -> None:
        """Keep nothing."""


class _StandIn(Teacher):
    async def complete(
        self,
        messages: Sequence[Message],
        *,
        script: Mapping[str, Any],
        tools: Sequence[ToolSpec] = (),
        **options: Any,
    ) -> Completion:
        done = await Teacher(TeacherParams()).complete(messages, script=script, tools=tools, **options)
        self._usage.requests += 1
        self._usage.prompt_tokens += rough_tokens(messages, tools)
        self._usage.completion_tokens += rough_tokens([done.message])
        return done


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:,.2f}"
