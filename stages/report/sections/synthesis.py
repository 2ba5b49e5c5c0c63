"""The conversations as written: mix, information, perturbations, errors met, and the state machine's steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stages.report.blocks import Block, Facts, Table, share
from stages.report.inputs import Inputs
from stages.report.plots import Plotter


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Counts and achieved rates."""
    metrics = inputs.metrics("synthesize")
    written, calls = metrics["conversations"], metrics["calls"]
    facts = Facts(
        [
            ("conversations", f"{written:,}"),
            ("not written", f"{sum(metrics['unwritten'].values()):,}"),
            ("user turns", f"{metrics['user_turns']:,}"),
            ("calls", f"{calls:,}"),
            ("failed calls", share(metrics["failed_calls"], calls)),
            ("tools called", f"{metrics['tools_called']:,}"),
            ("cost", f"${metrics['cost']:.2f}"),
        ]
    )
    multi_turn = sum(metrics["information"].values())
    return [
        facts,
        _counts("Kinds", "kind", metrics["kinds"], written),
        _counts("Information given at first, of multi-turn ones", "information", metrics["information"], multi_turn),
        _counts("Perturbations", "perturbation", metrics["perturbations"], written),
        _counts("Errors that calls met", "code", metrics["error_codes"], metrics["failed_calls"]),
        _counts("Steps of the state machine", "step", metrics["transitions"], None),
    ]


def _counts(caption: str, what: str, counts: Mapping[str, int], whole: int | None) -> Table:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if whole is None:
        return Table(caption, [what, "count"], ordered, folded=True)
    return Table(caption, [what, "count", "share"], [(name, n, share(n, whole)) for name, n in ordered])
