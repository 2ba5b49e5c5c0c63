"""One run of the scheduled pipeline as a Prefect flow: the stages, then a copy of the reports, then word of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import httpx

from flows.settings import use_local_settings

use_local_settings()

from prefect import flow, get_run_logger  # noqa: E402  # the settings come first

from flows.artefacts import Result  # noqa: E402
from flows.backlog import at_work  # noqa: E402
from flows.history import HISTORY, keep, prune  # noqa: E402
from flows.notify import body_of, notify, subject_of  # noqa: E402
from flows.pipeline import PipelineFailedError, pipeline, stages_until, without_prefect  # noqa: E402

KEEP = 14
"""Runs whose reports are kept."""


@flow(name="nightly", validate_parameters=False)
def nightly(
    profile: str = "", until: str = "", keep_runs: int = KEEP, notify_block: str = "", force: bool = False
) -> list[Result]:
    """Bring the pipeline up to date, keep its reports, and tell somebody.

    Args:
        profile: a file of profiles/ without .yaml; "" is the default run.
        until: the last stage; "" is the profile's, or all.
        keep_runs: how many runs' reports are kept.
        notify_block: a stored notification block, TYPE/NAME; "" tells nobody.
        force: run stages even if nothing changed.

    Raises:
        PipelineFailedError: a stage failed; reports and word of it come first.
    """
    with at_work():
        return _night(profile, until, keep_runs, notify_block, force)


def _night(profile: str, until: str, keep_runs: int, notify_block: str, force: bool) -> list[Result]:
    begun = datetime.now(UTC)
    root, until = workspace(profile, until)
    stages, failure = stages_until(until, root), None
    try:
        try:
            results = pipeline(stages, force, root)
        except httpx.TransportError:
            results = without_prefect(stages, root, get_run_logger().info)
    except PipelineFailedError as error:
        results, failure = error.results, error
    told = {"profile": profile, "until": until, "force": force}
    history = HISTORY / profile if profile else HISTORY
    get_run_logger().info(f"kept in {keep(results, root, begun, told, history)}")
    prune(keep_runs, history)
    if notify_block:
        _tell(notify_block, results, profile)
    if failure:
        raise failure
    return results


def workspace(profile: str, until: str) -> tuple[Path, str]:
    """Where the run works, and its last stage.

    Raises:
        ParamsError: there is no such profile, or it is a bad one.
    """
    if not profile:
        return Path(), until
    from stages.profile import load_profile, prepare  # it reads all parameters, training's too

    loaded = load_profile(profile)
    return prepare(loaded), until or loaded.until


def _tell(block: str, results: list[Result], profile: str) -> None:
    try:
        notify(block, subject_of(results, profile), body_of(results))
    except Exception as error:  # noqa: BLE001  # a service that is away does not make the run a bad one
        get_run_logger().warning(f"nobody was told: block {block}: {type(error).__name__}: {error}")
