"""Whether the form of the replies held: divergence on control tokens beside the reward, and the forms by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.blocks import Block, Facts, Figure, Note, Table, share
from stages.report.inputs import Inputs
from stages.report.plots import Plotter

FORMS = {"response": "response", "call": "tool call", "polluted": "polluted", "collapsed": "collapsed"}
CURVES = {"control_kl": "KL on control tokens", "text_kl": "KL on the rest", "reward": "reward"}


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """The worst step, the curves and areas of the steps whose replies were looked at, and every alarm."""
    lines = [line for line in inputs.log("grpo_log.jsonl", optional=True) if "forms/call" in line]
    if not lines:
        return [Note("The form of replies was not measured: there was no GRPO, or its log has no `forms`.")]
    alarms = inputs.log("collapse_log.jsonl", optional=True)
    return [*_forms(plots, lines, alarms), *_divergence(plots, lines, alarms), *_alarms(alarms)]


def _forms(plots: Plotter, lines: Sequence[Mapping[str, Any]], alarms: Sequence[Mapping[str, Any]]) -> list[Block]:
    worst = max(lines, key=_malformed)
    facts = Facts(
        [
            ("Polluted or collapsed, first step", share(_malformed(lines[0]), 1)),
            ("last step", share(_malformed(lines[-1]), 1)),
            ("at worst", f"{share(_malformed(worst), 1)} in step {worst['step']}"),
        ]
    )
    if len(lines) == 1:
        return [facts]
    areas = plots.areas(
        "collapse-forms",
        "Share of each form among the replies of a step" + _legend(alarms),
        [line["step"] for line in lines],
        {label: [line[f"forms/{form}"] for line in lines] for form, label in FORMS.items()},
        [alarm["step"] for alarm in alarms],
    )
    return [facts, areas]


def _divergence(
    plots: Plotter, lines: Sequence[Mapping[str, Any]], alarms: Sequence[Mapping[str, Any]]
) -> list[Figure]:
    if not any("control_kl" in line for line in lines):
        return []
    panels = {
        label: [line.get(key) for line in lines] for key, label in CURVES.items() if any(key in line for line in lines)
    }
    caption = "Divergence from the reference in nats per token, beside the reward" + _legend(alarms)
    steps, marks = [line["step"] for line in lines], [alarm["step"] for alarm in alarms]
    return [plots.curves("collapse-divergence", caption, steps, panels, marks)]


def _alarms(alarms: Sequence[Mapping[str, Any]]) -> list[Block]:
    if not alarms:
        return [Note("No alarm.")]
    rows = [(a["step"], a["since"], a["reason"], a["action"], a["restored"], f"{a['lr']:g}") for a in alarms]
    header = ("step", "unhealthy since", "reason", "action", "back to step", "learning rate from then on")
    return [Table("Alarms", header, rows)]


def _malformed(line: Mapping[str, Any]) -> float:
    return float(line["forms/polluted"] + line["forms/collapsed"])


def _legend(alarms: Sequence[Mapping[str, Any]]) -> str:
    return "; dashed lines are alarms" if alarms else ""
