"""The teachers of one stage: who plays which role, with one account, one cache and one budget for all of them.

with open_teachers(ctx.block(TeacherParams, "teacher"), ctx.name) as teachers:
    ...  # teachers.of("assistant").complete(...)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import get_args

from stages.artifacts import DATA
from stages.params import ParamsError, Role, TeacherParams
from stages.progress import error_console
from stages.teacher.budget import Budget
from stages.teacher.cache import Cache
from stages.teacher.client import Shared, Teacher
from stages.teacher.ledger import Ledger
from stages.teacher.limits import Limits
from stages.teacher.pricing import price_of
from stages.teacher.provider import is_scripted
from stages.teacher.serve import served

ROLES: tuple[Role, ...] = get_args(Role)


class Teachers:
    """Gives the teacher of a role; roles that share a model share its limits.

    Args:
        params: the block of the teacher.
        shared: accounts, cache and budget; accounts alone by default.
        address: where the block's own model is served, if that is not `params.api_base`.
    """

    def __init__(self, params: TeacherParams, shared: Shared | None = None, address: str | None = None) -> None:
        self.params = params
        self._shared = shared or Shared()
        self._address = address
        self._teachers: dict[Role, Teacher] = {}
        self._limits: dict[tuple[str, str | None], Limits] = {}

    @property
    def scripted(self) -> bool:
        """Whether every role plays plans: nothing is sent anywhere, and there is nothing to account for."""
        return all(is_scripted(self.params.of(role).model) for role in ROLES)

    @property
    def ledger(self) -> Ledger:
        """The accounts of all roles."""
        return self._shared.ledger

    def of(self, role: Role) -> Teacher:
        """The teacher that plays a role.

        Raises:
            ParamsError: there is a budget, and nobody knows what this teacher costs.
        """
        if role not in self._teachers:
            self._teachers[role] = self._hire(role)
        return self._teachers[role]

    def _hire(self, role: Role) -> Teacher:
        params = self.params.of(role)
        if params.budget is not None and price_of(params) is None:
            raise ParamsError(
                f"teacher.budget: nobody knows what {params.model} costs: set the price of the role {role}, "
                "as teacher.price or teacher.roles.<role>.price {prompt: , completion: }, or no budget"
            )
        limits = self._limits.setdefault(
            (params.model, params.api_base),
            Limits(params.concurrency, params.requests_per_minute, params.tokens_per_minute),
        )
        served_here = params.model == self.params.model and params.api_base is None
        return Teacher(params, role, self._shared, limits, self._address if served_here else None)


@contextmanager
def open_teachers(params: TeacherParams, stage: str) -> Iterator[Teachers]:
    """The teachers of a stage, with cache and budget, and their server if there is one to start.

    The accounts are shown at the end, also after an error, unless all teachers are scripted.

    Raises:
        ArtifactError: the cache cannot be used, or the server cannot be started.
    """
    if Teachers(params).scripted:
        yield Teachers(params)
        return
    spent = DATA / ".unfinished" / "teacher" / f"{stage}.json"
    budget = Budget(params.budget, spent) if params.budget is not None else None
    with ExitStack() as stack:
        cache = Cache(Path(params.cache)) if params.cache else None
        if cache:
            stack.callback(cache.close)
        address = stack.enter_context(served(params)) if params.serve == "vllm" else None
        teachers = Teachers(params, Shared(cache=cache, budget=budget), address)
        stack.callback(lambda: error_console().print(teachers.ledger.table()))
        yield teachers
    if budget:
        budget.settle()
