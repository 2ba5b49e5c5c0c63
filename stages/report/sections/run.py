"""What ran: servers, teacher, starting weights, and every parameter that was set."""

from __future__ import annotations

from collections.abc import Sequence

from stages.params import BootstrapParams, TeacherParams, check_block
from stages.report.blocks import Block, Facts, Table
from stages.report.inputs import Inputs
from stages.report.plots import Plotter
from stages.tracking import flat


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Facts of the run, and the params that differ from the defaults."""
    teacher = check_block(TeacherParams, inputs.document.get("teacher", {}), "teacher")
    bootstrap = check_block(BootstrapParams, inputs.document.get("bootstrap", {}), "bootstrap")
    metrics = inputs.metrics("bootstrap")
    facts = Facts(
        [
            ("fingerprint", metrics["fingerprint"]),
            ("servers", f"{len(metrics['servers']):,}"),
            ("tools", f"{metrics['tools']:,}"),
            ("teacher", teacher.model),
            ("starting weights", bootstrap.policy),
            ("seed", str(inputs.seed)),
        ]
    )
    rows = [(name, str(value)) for name, value in flat(inputs.document)]
    return [facts, Table("Set in params.yaml (all else has its default)", ["parameter", "value"], rows, folded=True)]
