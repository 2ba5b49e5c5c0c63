"""The conversations as written: wanted and achieved rates, errors met, the state machine's steps, diversity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.blocks import Block, Facts, Table, number, share
from stages.report.inputs import Inputs
from stages.report.plots import Plotter


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Counts, rates and diversity."""
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
    rates = [(name, f"{row['wanted']:.1%}", f"{row['achieved']:.1%}") for name, row in metrics["rates"].items()]
    return [
        facts,
        Table("Rates", ["share of", "wanted", "achieved"], rates),
        _counts("Kinds", "kind", metrics["kinds"], written),
        _counts("Errors that calls met", "code", metrics["error_codes"], metrics["failed_calls"]),
        Table("Steps of the state machine", ["step", "count"], list(metrics["transitions"].items()), folded=True),
        *_diversity(metrics["diversity"]),
    ]


def _diversity(figures: Mapping[str, Any]) -> Sequence[Block]:
    asked = figures["requests"]
    return [
        Facts(
            [
                ("chains used", f"{figures['chains']:,}"),
                ("tools in the truth", f"{figures['tools']:,}"),
                ("tools shown", f"{figures['tools_shown']:,}"),
                ("entities used", f"{figures['entities']:,}"),
                ("words in a request", number(asked["words"], 1)),
            ]
        ),
        Table(
            f"Diversity of {asked['texts']:,} requests (self-BLEU: lower is more varied)",
            ["distinct-1", "distinct-2", "distinct-3", "self-BLEU"],
            [[number(asked[name]) for name in ("distinct_1", "distinct_2", "distinct_3", "self_bleu")]],
        ),
        Table("Conversations by user turns", ["turns", "conversations"], list(figures["turns"].items()), folded=True),
        Table(
            "Conversations by length of their chain",
            ["tools", "conversations"],
            list(figures["chain_lengths"].items()),
            folded=True,
        ),
    ]


def _counts(caption: str, what: str, counts: Mapping[str, int], whole: int) -> Table:
    """Most frequent first, with shares of a whole."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return Table(caption, [what, "count", "share"], [(name, n, share(n, whole)) for name, n in ordered])
