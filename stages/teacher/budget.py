"""The most that a stage may spend, over all its attempts: what an unfinished run has spent is kept in a file.

So a stage that is killed, or that a flow runs again, goes on counting where it stopped. Requests that are
under way when the budget is reached are still paid.
"""

from __future__ import annotations

from pathlib import Path

from stages.artifacts import read_json, write_json
from stages.teacher.errors import BudgetReachedError
from stages.teacher.ledger import Ledger


class Budget:
    """What may be spent and what was.

    Args:
        limit: US dollars.
        path: where the spending of an unfinished run is kept; nowhere if None.
    """

    def __init__(self, limit: float, path: Path | None = None) -> None:
        self._limit, self._path = limit, path
        self.spent = float(read_json(path)["spent"]) if path is not None and path.exists() else 0.0

    def check(self, ledger: Ledger) -> None:
        """Let a request pass.

        Raises:
            BudgetReachedError: nothing is left.
        """
        if self.spent < self._limit:
            return
        parts = [f"{role} ${use.cost:.4f} in {use.requests} requests" for role, use in sorted(ledger.roles.items())]
        raise BudgetReachedError(
            f"the teacher's budget is reached: ${self.spent:.4f} of ${self._limit:.4f} spent, earlier attempts of "
            f"this run included (now: {', '.join(parts) or 'nothing'}). Finished work is kept: raise teacher.budget "
            "in params.yaml and run the stage again"
        )

    def pay(self, cost: float) -> None:
        """Count an answer's price in US dollars."""
        self.spent += cost
        if cost and self._path is not None:
            write_json(self._path, {"spent": self.spent})

    def settle(self) -> None:
        """The run is finished: the next one starts from nothing."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
