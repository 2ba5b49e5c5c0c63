"""Sample episodes of the policies on held-out rows: what was said and called, and what it earned.

The columns are those of `stages.episodes`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from stages.report.blocks import Block, Dialogue, Line, Note, number
from stages.report.inputs import Inputs
from stages.report.plots import Plotter
from stages.report.sections.rewards import NAMES

COLUMNS = ("row", "policy", "server", "kind", "messages", "truth", "reward")
PARTS = ("validity", "coverage", "efficiency", "name", "arguments")
LONGEST = 1500


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Up to `report.episodes` episodes of the trained policy, taking the servers in turn."""
    table = inputs.table("scores/episodes.parquet", COLUMNS)
    rows = [row for row in table if row["policy"] == "policy"]
    chosen = list(_in_turn(rows))[: inputs.params.episodes]
    if not chosen:
        return [Note("No episodes to show.")]
    return [Note(f"{len(chosen)} of {len(rows)} episodes of the trained policy."), *map(_dialogue, chosen)]


def _in_turn(rows: Sequence[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["server"], []).append(row)
    return (row for row in chain.from_iterable(zip_longest(*groups.values())) if row is not None)


def _dialogue(row: Mapping[str, Any]) -> Dialogue:
    reward = json.loads(row["reward"])
    headline = f"{NAMES.get(row['policy'], row['policy'])} on {row['row']} ({row['server']}, {row['kind']})"
    return Dialogue(
        headline,
        [_line(message) for message in json.loads(row["messages"])],
        [("reward", number(reward["total"], 2)), *((part, number(reward[part], 2)) for part in PARTS)],
        [_call(call) for call in json.loads(row["truth"])],
    )


def _line(message: Mapping[str, Any]) -> Line:
    text = message["content"]
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text) - LONGEST:,} more characters)"
    return Line(message["role"], shown, [_call(call) for call in message["tool_calls"]])


def _call(call: Mapping[str, Any]) -> str:
    if call["arguments"] is None:
        return f"{call['name']}: unreadable arguments {call.get('raw', '')[:LONGEST]}"
    told = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call["arguments"].items())
    return f"{call['name']}({told})"
