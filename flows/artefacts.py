"""What a run of the pipeline leaves to look at in Prefect: a table of its stages, and links to the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from flows.settings import use_local_settings

use_local_settings()

from prefect.artifacts import create_link_artifact, create_table_artifact  # noqa: E402  # the settings come first

from stages.progress import human_size, human_time  # noqa: E402

PAGES = ("index", "leaderboard")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a stage; `code` is the exit code that it asks for, `why` is said of a failure."""

    stage: str
    outcome: str
    seconds: float
    code: int = 0
    why: str = ""


def publish(results: Sequence[Result], root: Path) -> None:
    """Create the artefacts of the flow run at hand."""
    create_table_artifact(
        key="pipeline-stages",
        table=[stage_row(result, root) for result in results],
        description=f"Stages of the pipeline in `{root.resolve()}`",
    )
    for name in PAGES:
        page = (root / "reports" / f"{name}.html").resolve()
        if page.is_file():
            create_link_artifact(key=f"report-{name}", link=page.as_uri(), link_text=f"reports/{name}.html")


def stage_row(result: Result, root: Path) -> dict[str, str]:
    """A stage as a row: outcome, time, and its outputs as `dvc.lock` has them."""
    lock = root / "dvc.lock"
    known = (yaml.safe_load(lock.read_text(encoding="utf-8")) or {}) if lock.is_file() else {}
    outs = known.get("stages", {}).get(result.stage, {}).get("outs", [])
    told = (f"{out['path']} ({human_size(out['size'])}, md5 {out['md5'][:8]})" for out in outs)
    return {
        "stage": result.stage,
        "outcome": result.outcome,
        "time": human_time(result.seconds) if result.seconds else "",
        "outputs": ", ".join(told),
        "failure": result.why,
    }
