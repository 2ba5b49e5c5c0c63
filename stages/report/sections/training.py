"""Training curves: the warm start's loss, then reward, divergence and entropy of GRPO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.blocks import Block, Facts, Figure, Note, number
from stages.report.inputs import Inputs
from stages.report.plots import Plotter

SFT = {"loss": "loss", "grad_norm": "gradient norm", "lr": "learning rate"}
GRPO = {
    "reward": "reward",
    "reward_std": "spread of rewards",
    "part_validity": "validity",
    "part_coverage": "coverage",
    "part_efficiency": "efficiency",
    "part_name": "name",
    "part_arguments": "arguments",
    "kl": "KL to the reference",
    "entropy": "entropy",
    "clipped": "clipped share",
    "grad_norm": "gradient norm",
    "groups_with_spread": "groups with spread",
    "own_tokens_per_episode": "tokens per episode",
    "cut_off": "episodes cut off",
}


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Both phases, each with a line of facts and its curves."""
    warm, rl = inputs.log("sft_log.jsonl"), inputs.log("grpo_log.jsonl")
    return [
        *_phase(plots, "sft", "Warm start", warm, SFT, "loss"),
        *_phase(plots, "grpo", "GRPO", rl, GRPO, "reward"),
    ]


def _phase(
    plots: Plotter, name: str, title: str, lines: Sequence[Mapping[str, Any]], known: Mapping[str, str], main: str
) -> list[Block]:
    if not lines:
        return [Note(f"{title}: no steps.")]
    first, last = lines[0][main], lines[-1][main]
    facts = Facts(
        [(title, f"{len(lines):,} step{'s' * (len(lines) != 1)}"), (main, f"{number(first)} → {number(last)}")]
    )
    return [facts, _curves(plots, name, title, lines, known)]


def _curves(
    plots: Plotter, name: str, title: str, lines: Sequence[Mapping[str, Any]], known: Mapping[str, str]
) -> Figure:
    panels = {
        label: [line.get(key) for line in lines]
        for key, label in known.items()
        if any(line.get(key) is not None for line in lines)
    }
    return plots.curves(f"training-{name}", f"{title} by step", [line["step"] for line in lines], panels)
