"""The pipeline as a Prefect flow: one task for each DVC stage, in order, of which only stale ones do work.

    python -m flows.pipeline

A held repository lock is waited for with growing pauses. A stage that was killed, or whose teacher did not answer,
is tried again a few times. Any other failure ends the flow, since each stage needs the one before. If Prefect's server
dies meanwhile, the stages go on without it. Exit codes: 0 done, 1 a stage failed, 2 bad usage or bad params.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console
from rich.table import Table

from flows.settings import use_local_settings

use_local_settings()

from prefect import flow, get_run_logger, task  # noqa: E402  # the settings come first
from prefect.cache_policies import NO_CACHE  # noqa: E402
from prefect.tasks import exponential_backoff  # noqa: E402

from flows.artefacts import Result, publish  # noqa: E402
from flows.stages import (  # noqa: E402
    PIPELINE,
    Done,
    InfrastructureError,
    LockHeldError,
    StageFailedError,
    run_dvc_stage,
    stage_names,
)
from stages.progress import human_time  # noqa: E402

LOCK_RETRIES = 8
"""Tries after the first while somebody else works in the repository: the pauses sum to about twenty minutes."""

INFRASTRUCTURE_RETRIES = 3
"""Tries after the first for a stage that was killed or not answered."""

FIRST_PAUSE = 5
"""Seconds before the first retry; each further pause is twice as long."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class PipelineFailedError(Exception):
    """A stage failed for good; `results` has all stages, those that were not tried too."""

    def __init__(self, results: Sequence[Result]) -> None:
        super().__init__("; ".join(result.why for result in results if result.code))
        self.results = list(results)


def is_retryable(_task: Any, run: Any, state: Any) -> bool:
    """Whether another try may help: always with a held lock, a few times with a fault of the infrastructure."""
    if isinstance(state.data, LockHeldError):
        return True
    return isinstance(state.data, InfrastructureError) and run.run_count <= INFRASTRUCTURE_RETRIES


@task(
    task_run_name="{stage}",
    cache_policy=NO_CACHE,
    retries=LOCK_RETRIES,
    retry_delay_seconds=exponential_backoff(backoff_factor=FIRST_PAUSE),
    retry_condition_fn=is_retryable,
)
def run_stage_task(stage: str, force: bool, root: Path) -> Done:
    """One stage as a task."""
    try:
        return run_dvc_stage(stage, root=root, force=force, say=get_run_logger().info)
    except LockHeldError as error:
        get_run_logger().warning(f"waiting: {error}")
        raise


@flow(name="pipeline", validate_parameters=False)
def pipeline(stages: list[str], force: bool = False, root: Path = Path()) -> list[Result]:
    """Bring the stages up to date, in order; stops at the first that fails.

    Raises:
        PipelineFailedError: a stage failed.
    """
    logger = get_run_logger()
    results = _in_order(stages, lambda stage: run_stage_task(stage, force, root), logger.error)
    try:
        publish(results, root)
    except httpx.HTTPError as error:  # the stages' work does not hang on a table of it
        logger.warning(f"no artefacts in Prefect: {type(error).__name__}: {error}")
    return _good(results)


def without_prefect(stages: list[str], root: Path = Path(), say: Callable[[str], None] = print) -> list[Result]:
    """The same when Prefect's server has gone, without its retries; what it had done already is not done again.

    Raises:
        PipelineFailedError: a stage failed.
    """
    say("Prefect's server has gone: what is still out of date is brought up to date without it")
    return _good(_in_order(stages, lambda stage: run_dvc_stage(stage, root=root, say=say), say))


def _in_order(stages: Sequence[str], run: Callable[[str], Done], complain: Callable[[str], None]) -> list[Result]:
    results: list[Result] = []
    for stage in stages:
        begin = time.monotonic()
        outcome, code, why = "failed", 0, ""
        try:
            outcome = run(stage).outcome
        except StageFailedError as error:
            complain(str(error))
            code, why = error.code, str(error)
        results.append(Result(stage, outcome, time.monotonic() - begin, code, why))
        if code:
            break
    return results + [Result(stage, "not tried", 0.0) for stage in stages[len(results) :]]


def _good(results: list[Result]) -> list[Result]:
    if any(result.code for result in results):
        raise PipelineFailedError(results)
    return results


def show(results: Sequence[Result]) -> None:
    """Print the table of stages."""
    table = Table("stage", "outcome", box=None, header_style="bold")
    table.add_column("time", justify="right")
    for result in results:
        table.add_row(result.stage, result.outcome, human_time(result.seconds) if result.seconds else "")
    Console(highlight=False).print(table)


def stages_until(until: str, root: Path = Path()) -> list[str]:
    """The stages up to and with the named one, "" for all.

    Raises:
        ValueError: there is no such stage.
    """
    names = stage_names(root / PIPELINE)
    if until and until not in names:
        raise ValueError(f"unknown stage {until!r}; there are {', '.join(names)}")
    return names[: names.index(until) + 1] if until else names


@app.command()
def main(
    until: Annotated[str, typer.Option(metavar="STAGE", help="the last stage to bring up to date")] = "",
    force: Annotated[bool, typer.Option("--force", help="run stages even if nothing changed")] = False,
) -> None:
    """Rebuild whatever is out of date, stage by stage, as a Prefect flow."""
    if not PIPELINE.exists():
        raise typer.BadParameter(f"there is no {PIPELINE} here: run from the repository's root")
    try:
        stages = stages_until(until)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--until") from None
    try:
        try:
            results = pipeline(stages, force)
        except httpx.TransportError:
            results = without_prefect(stages)
    except PipelineFailedError as error:
        results = error.results
    show(results)
    raise typer.Exit(max(result.code for result in results))


if __name__ == "__main__":
    app()
