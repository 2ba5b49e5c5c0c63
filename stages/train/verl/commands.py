"""What can be known of a cluster run without running it: its exact command, and what it will need."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stages.artifacts import DATA, ArtifactError
from stages.stage import StageContext
from stages.train.params import TrainParams
from stages.train.verl.plan import told
from stages.train.verl.prepare import prepare, whole
from stages.train.verl.shapes import shape_of


def command(ctx: StageContext[TrainParams]) -> Sequence[Path]:
    """Write rows and settings, check them, and print the command that trains on them."""
    work = DATA / ".unfinished" / "verl-command"
    print(prepare(ctx, _base(ctx), whole(ctx, work)).shell())
    return [work]


def plan(ctx: StageContext[TrainParams]) -> Sequence[Path]:
    """Estimate memory and seconds of a step, with the arithmetic shown; nothing is run."""
    weights = [ctx.params.policy.base, str(ctx.document.get("bootstrap", {}).get("policy", ""))]
    print(told(ctx.params, shape_of(*weights)))
    return []


def _base(ctx: StageContext[TrainParams]) -> Path:
    for place in (DATA / "policy" / "sft" if "sft" in ctx.params.phases else None, Path(ctx.params.policy.base)):
        if place is not None and place.is_dir():
            return place
    raise ArtifactError(f"no weights at {ctx.params.policy.base}: run `python -m stages.bootstrap`")
