"""The dataset: what was accepted, why the rest was rejected, and the rows of each split."""

from __future__ import annotations

from collections.abc import Sequence

from stages.report.blocks import Block, Facts, Note, Table, share
from stages.report.inputs import Inputs
from stages.report.plots import Plotter


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Counts, rejections by reason, splits."""
    metrics = inputs.metrics("validate")
    accepted, rejected = metrics["accepted"], metrics["rejected"]
    facts = Facts(
        [
            ("accepted", f"{accepted:,}"),
            ("rejected", f"{rejected:,}"),
            ("acceptance", share(accepted, accepted + rejected)),
            *((f"{split} rows", f"{count:,}") for split, count in metrics["rows"].items()),
            ("SFT rows", f"{metrics['sft_rows']:,}"),
        ]
    )
    kinds = sorted(metrics["kinds"].items(), key=lambda item: (-item[1], item[0]))
    reasons = sorted(metrics["reasons"].items(), key=lambda item: (-item[1], item[0]))
    blocks: list[Block] = [
        facts,
        Table("Accepted, by kind", ["kind", "count", "share"], [(k, n, share(n, accepted)) for k, n in kinds]),
    ]
    if not reasons:
        return [*blocks, Note("Nothing was rejected.")]
    figure = plots.bars(
        "rejections",
        "Conversations rejected, by reason",
        [name for name, _ in reasons],
        {"conversations": [count for _, count in reasons]},
    )
    return [*blocks, figure]
