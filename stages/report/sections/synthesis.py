"""The conversations as written: mix, information, perturbations, errors met, and the state machine's steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stages.params import SynthesizeParams, check_block
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
    params = check_block(SynthesizeParams, inputs.document.get("synthesize", {}), "synthesize")
    mix = params.mix.model_dump()
    mix["multi_turn"] = 1 - sum(mix.values())
    multi_turn = sum(metrics["information"].values())
    return [
        facts,
        _counts("Kinds", "kind", metrics["kinds"], written, mix),
        _counts(
            "Information given at first, of multi-turn ones",
            "information",
            metrics["information"],
            multi_turn,
            params.information.model_dump(),
        ),
        _counts("Perturbations", "perturbation", metrics["perturbations"], written),
        _counts("Errors that calls met", "code", metrics["error_codes"], metrics["failed_calls"]),
        _counts("Steps of the state machine", "step", metrics["transitions"], None),
    ]


def _counts(
    caption: str, what: str, counts: Mapping[str, int], whole: int | None, wanted: Mapping[str, float] | None = None
) -> Table:
    """Most frequent first, with shares of a whole and, where params ask for shares, what they ask for."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if whole is None:
        return Table(caption, [what, "count"], ordered, folded=True)
    if wanted is None:
        return Table(caption, [what, "count", "share"], [(name, n, share(n, whole)) for name, n in ordered])
    rows = [(name, n, share(n, whole), f"{wanted.get(name, 0):.1%}") for name, n in ordered]
    return Table(caption, [what, "count", "share", "wanted"], rows)
