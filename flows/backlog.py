"""What Prefect still has of a deployment when serving begins: runs that were missed, and one that was lost.

A run is lost when the machine goes down under it: to Prefect it is running still, and as only one may run at a time it
would keep the next ones out. A run at work holds a lock file of the repository, which the system lets go with its
process: where nobody holds it, no run is at work.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID

    from prefect.client.schemas.objects import FlowRun, State

AT_WORK = Path(".cache", "nightly.lock")


@contextmanager
def at_work() -> Iterator[bool]:
    """Hold the lock file as long as the block runs; whether it could be had."""
    AT_WORK.parent.mkdir(parents=True, exist_ok=True)
    with AT_WORK.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


async def mark_lost(deployment: UUID) -> list[str]:
    """Set runs that were at work to crashed if nobody is; returns their names."""
    from prefect.client.orchestration import get_client
    from prefect.states import Crashed

    crashed: State[None] = Crashed(message="killed together with the process that served it")
    with at_work() as alone:
        lost = await _runs(deployment, state={"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}) if alone else []
        async with get_client() as client:
            for flow_run in lost:
                await client.set_flow_run_state(flow_run.id, crashed, force=True)
    return [flow_run.name for flow_run in lost]


async def cancel_missed(deployment: UUID) -> int:
    """Cancel all runs that were due before now but the newest; returns how many."""
    from prefect.client.orchestration import get_client
    from prefect.states import Cancelled

    async with get_client() as client:
        now = {"before_": datetime.now(UTC)}
        due = await _runs(deployment, state={"type": {"any_": ["SCHEDULED"]}}, expected_start_time=now)
        for flow_run in due[:-1]:
            await client.set_flow_run_state(flow_run.id, Cancelled(message="missed while nobody served it"), force=True)
    return len(due[:-1])


async def _runs(deployment: UUID, **wanted: Any) -> list[FlowRun]:
    """Runs of the deployment, the earliest first."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter
    from prefect.client.schemas.sorting import FlowRunSort

    flow_run_filter = FlowRunFilter.model_validate({"deployment_id": {"any_": [deployment]}, **wanted})
    async with get_client() as client:
        return await client.read_flow_runs(flow_run_filter=flow_run_filter, sort=FlowRunSort.EXPECTED_START_TIME_ASC)
