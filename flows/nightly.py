"""The pipeline by the clock: a served Prefect deployment, or one such run right now.

    python -m flows.nightly serve --cron "0 3 * * *" --timezone Europe/Berlin
    python -m flows.nightly run --profile smoke --until validate

One run at a time: what becomes due while another runs is cancelled. After downtime the newest missed run is made up
for, older ones are cancelled. Exit codes: 0 done, 1 a stage failed, 2 bad usage or bad params.
"""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.console import Console

from flows.night import KEEP, nightly, workspace
from flows.notify import BlockNameError, checked
from flows.pipeline import PipelineFailedError, show, stages_until
from flows.stages import PIPELINE
from stages.params import ParamsError

if TYPE_CHECKING:
    from uuid import UUID

    from prefect.client.schemas.objects import FlowRun
    from prefect.schedules import Schedule

NAME = "nightly"
CRON = "0 3 * * *"
ENTRYPOINT = "flows.night.nightly"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__, no_args_is_help=True)
out = Console(highlight=False)

Profile = Annotated[str, typer.Option(metavar="NAME", help="a file of profiles/; none: the default run")]
Until = Annotated[str, typer.Option(metavar="STAGE", help="the last stage; none: the profile's, or all")]
Keep = Annotated[int, typer.Option(min=1, metavar="N", help="runs whose reports are kept")]
Notify = Annotated[str, typer.Option(metavar="TYPE/NAME", help="a stored notification block; none: nobody is told")]
Force = Annotated[bool, typer.Option("--force", help="run stages even if nothing changed")]


@app.command()
def run(profile: Profile = "", until: Until = "", keep: Keep = KEEP, notify: Notify = "", force: Force = False) -> None:
    """Do one run now."""
    _check(profile, until, notify)
    try:
        results, code = nightly(profile, until, keep, notify, force), 0
    except PipelineFailedError as error:
        results, code = error.results, max(result.code for result in error.results)
    show(results)
    raise typer.Exit(code)


@app.command()
def serve(
    cron: Annotated[str, typer.Option(help="when, as minute, hour, day of month, month, day of week")] = CRON,
    timezone: Annotated[str, typer.Option(help="an IANA time zone, such as Europe/Berlin")] = "UTC",
    profile: Profile = "",
    until: Until = "",
    keep: Keep = KEEP,
    notify: Notify = "",
    force: Force = False,
    tag: Annotated[list[str] | None, typer.Option(help="a tag of the deployment; may be repeated")] = None,
) -> None:
    """Serve the deployment until Ctrl-C; its schedule stays in Prefect."""
    _check(profile, until, notify)
    parameters = {
        "profile": profile, "until": until, "keep_runs": keep, "notify_block": notify, "force": force,
    }  # fmt: skip
    out.print(f"nightly/{NAME}: {cron} ({timezone}); one run at a time; Ctrl-C stops", markup=False)
    asyncio.run(_serve(_schedule(cron, timezone), parameters, tag or ["prove"]))


def _check(profile: str, until: str, notify: str) -> None:
    if not PIPELINE.exists():
        raise typer.BadParameter(f"there is no {PIPELINE} here: run from the repository's root")
    try:
        root, _ = workspace(profile, until)
        stages_until(until, root)
        checked(notify)
    except (ParamsError, BlockNameError, ValueError) as error:
        raise typer.BadParameter(str(error)) from None


def _schedule(cron: str, timezone: str) -> Schedule:
    from prefect.schedules import Cron

    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError):
        raise typer.BadParameter(f"unknown time zone {timezone!r}", param_hint="--timezone") from None
    try:
        return Cron(cron, timezone=timezone)
    except ValueError:
        raise typer.BadParameter(f"{cron!r} is no schedule such as {CRON!r}", param_hint="--cron") from None


async def _serve(schedule: Schedule, parameters: dict[str, object], tags: list[str]) -> None:
    """Serve until a signal comes, which from the first moment on ends everything in good order."""
    serving = asyncio.ensure_future(_register_and_run(schedule, parameters, tags))
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, serving.cancel)
    await asyncio.wait([serving])
    if not serving.cancelled():
        serving.result()
    out.print("stopped; the schedule stays", markup=False)


async def _register_and_run(schedule: Schedule, parameters: dict[str, object], tags: list[str]) -> None:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.runner import Runner

    runner = Runner(name=NAME, limit=1, pause_on_shutdown=False)
    deployment = await nightly.ato_deployment(
        NAME,
        schedules=[schedule],
        parameters=parameters,
        tags=tags,
        concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
    )
    deployment.entrypoint = ENTRYPOINT  # by module: this file is `__main__` where it runs
    identifier = await runner.aadd_deployment(deployment)
    missed = await cancel_missed(identifier)
    if missed:
        out.print(f"{missed} missed runs cancelled, the newest is made up for", markup=False)
    out.print("serving", markup=False)
    await runner.start()


async def cancel_missed(deployment: UUID) -> int:
    """Cancel all runs that were due before now but the newest; returns how many."""
    from prefect.client.orchestration import get_client
    from prefect.states import Cancelled

    async with get_client() as client:
        due = await _due(deployment)
        for flow_run in due[:-1]:
            await client.set_flow_run_state(flow_run.id, Cancelled(message="missed while nobody served it"), force=True)
    return len(due[:-1])


async def _due(deployment: UUID) -> list[FlowRun]:
    """Scheduled runs whose time has come, the oldest first."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter
    from prefect.client.schemas.sorting import FlowRunSort

    wanted = FlowRunFilter.model_validate(
        {
            "deployment_id": {"any_": [deployment]},
            "state": {"type": {"any_": ["SCHEDULED"]}},
            "expected_start_time": {"before_": datetime.now(UTC)},
        }
    )
    async with get_client() as client:
        return await client.read_flow_runs(flow_run_filter=wanted, sort=FlowRunSort.EXPECTED_START_TIME_ASC)


if __name__ == "__main__":
    app()
