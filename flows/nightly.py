"""The pipeline by the clock: a served Prefect deployment, or one such run right now.

    python -m flows.nightly serve --cron "0 3 * * *" --timezone Europe/Berlin
    python -m flows.nightly run --profile smoke --until validate

One run at a time: what becomes due while another runs is cancelled. After downtime the newest missed run is made up
for, older ones are cancelled, and a run that was killed with what served it is marked as crashed. Exit codes: 0 done,
1 a stage failed, 2 bad usage or bad params.
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import httpx
import typer
from rich.console import Console

from flows.backlog import cancel_missed, mark_lost
from flows.history import HISTORY
from flows.night import KEEP, nightly, workspace
from flows.notify import BlockNameError, checked
from flows.pipeline import PipelineFailedError, show, stages_until
from flows.stages import PIPELINE
from stages.params import ParamsError

if TYPE_CHECKING:
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
    except httpx.TransportError as error:
        told = f"nightly: Prefect's server has gone ({error}); what became of the stages is in {HISTORY}"
        Console(stderr=True, highlight=False).print(told, markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
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
    for lost in await mark_lost(identifier):
        out.print(f"{lost} was killed with what served it, it is marked as crashed", markup=False)
    missed = await cancel_missed(identifier)
    if missed:
        out.print(f"{missed} missed runs cancelled, the newest is made up for", markup=False)
    out.print("serving", markup=False)
    await runner.start()


if __name__ == "__main__":
    app()
