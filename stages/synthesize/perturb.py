"""What the agent is shown: tools of the server, distractors of others, and schemas with enums stripped."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from servers.kernel.server import ToolServer
from stages.params import SynthesizeParams
from stages.records import ToolSpec
from stages.rollout import visible_spec


def visible_tools(
    catalog: Catalog,
    server: ToolServer,
    needed: Collection[str],
    hidden: Collection[str],
    params: SynthesizeParams,
    dice: Dice,
) -> tuple[tuple[ToolSpec, ...], tuple[str, ...]]:
    """The tools to show, in drawn order, and the names of the perturbations applied.

    Args:
        catalog: all servers; distractors come from the others.
        server: the conversation's server.
        needed: tools that the conversation calls; they are always shown.
        hidden: tools that must not be shown (missing function).
        params: rates, and how many of the server's tools are shown (0: all).
        dice: decides.
    """
    applied: list[str] = ["missing_function"] if hidden else []
    own = [name for name in server.tools if name not in needed and name not in hidden]
    room = len(own) if params.server_tools == 0 else max(0, params.server_tools - len(needed))
    names = [*needed, *dice.sample(own, room)]
    if dice.chance(params.distractor_rate):
        others = [n for n, entry in catalog.entries.items() if entry.server is not server and n not in hidden]
        drawn = dice.sample(others, dice.integer(*params.distractors))
        if drawn:
            applied.append("distractors")
            names += drawn
    specs = [visible_spec(catalog.entry(name).tool) for name in dice.shuffled(names)]
    if dice.chance(params.enum_strip_rate):
        stripped = [ToolSpec(s.name, s.description, strip_enums(s.parameters)) for s in specs]
        if stripped != specs:
            applied.append("enum_stripped")
            specs = stripped
    return tuple(specs), tuple(applied)


def strip_enums(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without its lists of allowed values."""
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "enum":
            continue
        if isinstance(value, dict):
            out[key] = strip_enums(value)
        else:
            out[key] = value
    return out
