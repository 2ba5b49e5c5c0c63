"""Training curves: the warm start's loss, then reward, divergence and entropy of GRPO, and validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.evaluate.statistics import bootstrap_mean, paired_difference
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
    "calls_over_budget": "calls over budget",
    "solved": "solved",
    "groups_with_spread": "groups with spread",
    "own_tokens_per_episode": "tokens per episode",
    "cut_off": "episodes cut off",
    "share_environment": "environment's share of time",
}


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """The phases that were run, each with a line of facts and its curves."""
    warm = inputs.log("sft_log.jsonl", optional=True)
    rl = inputs.log("grpo_log.jsonl", optional=bool(warm))
    return [
        *_phase(plots, "sft", "Warm start", warm, SFT, "loss"),
        *_phase(plots, "grpo", "GRPO", rl, GRPO, "reward"),
        *_validation(inputs, plots),
    ]


def _validation(inputs: Inputs, plots: Plotter) -> list[Block]:
    """Reward on validation rows by step, and how far the last step is from the first, row by row."""
    lines = inputs.log("validation_log.jsonl", optional=True)
    if not lines:
        return []
    rewards = [line["rewards"] for line in lines]
    bands = [bootstrap_mean(list(r.values()), seed=inputs.seed) for r in rewards]
    figure = plots.band(
        "training-validation",
        f"Reward on {len(rewards[0])} validation rows, greedy, with 95 % intervals",
        [line["step"] for line in lines],
        [(line["reward"], band.low, band.high) for line, band in zip(lines, bands, strict=True)],
    )
    common = rewards[0].keys() & rewards[-1].keys()
    gain = paired_difference(
        {row: rewards[-1][row] for row in common}, {row: rewards[0][row] for row in common}, seed=inputs.seed
    )
    told = f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] over {gain.tasks} rows"
    return [Facts([("Validation, last step against the first", told)]), figure]


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
