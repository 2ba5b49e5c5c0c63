"""`graph.html`: the tool graph, each server a panel, each edge with the evidence for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.inputs import Inputs
from stages.report.pages.layout import layered

COLUMN, ROW = 240, 34
"""Size of a tool's cell in the drawing's units."""

MARGIN, HEAD = 24, 70

WIDEST = 4200
"""How far a row of panels goes before the next begins."""

TOOL_COLUMNS = (
    "server", "name", "description", "input_schema", "read_only", "destructive", "idempotent", "error_codes",
)  # fmt: skip
TOLD = ("parameter", "schema", "trace", "executed", "teacher", "error_code", "evidence", "reason", "verdict")
EDGE_COLUMNS = ("server", "first", "second", *TOLD)


def graph_data(inputs: Inputs) -> dict[str, Any]:
    """Panels, tools with their places, and edges between them by the tools' numbers.

    Raises:
        ArtifactError: a table is missing or damaged, or lacks a column.
    """
    tools = inputs.table("catalog/tools.parquet", TOOL_COLUMNS)
    known = {tool["name"] for tool in tools}
    edges = [e for e in inputs.table("graph/edges.parquet", EDGE_COLUMNS) if {e["first"], e["second"]} <= known]
    panels = _panels(tools, edges)
    placed = {name: place for panel in panels for name, place in panel["places"].items()}
    number = {tool["name"]: index for index, tool in enumerate(tools)}
    return {
        "panels": [{key: value for key, value in panel.items() if key != "places"} for panel in panels],
        "tools": [_tool(tool, placed[tool["name"]]) for tool in tools],
        "edges": [
            {**{key: edge[key] for key in TOLD}, "first": number[edge["first"]], "second": number[edge["second"]]}
            for edge in edges
        ],
    }


def _panels(tools: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Servers in rows of panels, each as large as its own tools want."""
    panels = []
    for server in dict.fromkeys(tool["server"] for tool in tools):
        cells = layered(
            (tool["name"] for tool in tools if tool["server"] == server),
            ((e["first"], e["second"]) for e in edges if e["server"] == server and e["verdict"] != "none"),
        )
        width = (1 + max(x for x, _ in cells.values())) * COLUMN
        height = HEAD + (1 + max(y for _, y in cells.values())) * ROW
        panels.append({"server": server, "width": width, "height": height, "cells": cells})
    x = y = tallest = 0
    for panel in panels:
        if x and x + panel["width"] > WIDEST:
            x, y, tallest = 0, y + tallest + 2 * MARGIN, 0
        panel |= {"x": x, "y": y}
        panel["places"] = {n: (x + cx * COLUMN, y + HEAD + cy * ROW) for n, (cx, cy) in panel.pop("cells").items()}
        x += panel["width"] + 2 * MARGIN
        tallest = max(tallest, panel["height"])
    return panels


def _tool(tool: Mapping[str, Any], place: tuple[int, int]) -> dict[str, Any]:
    schema = json.loads(tool["input_schema"])
    hints = [name for name in ("read_only", "destructive", "idempotent") if tool[name]]
    return {
        "name": tool["name"],
        "server": tool["server"],
        "description": tool["description"],
        "hints": [hint.replace("_", " ") for hint in hints],
        "codes": tool["error_codes"],
        "parameters": [
            [name, _type(rule), name in schema.get("required", ()), rule.get("description", "")]
            for name, rule in schema.get("properties", {}).items()
        ],
        "schema": json.dumps(schema, indent=2, ensure_ascii=False),
        "x": place[0],
        "y": place[1],
    }


def _type(rule: Mapping[str, Any]) -> str:
    """A parameter's type in a few words."""
    kind = rule.get("type") or ("reference" if "$ref" in rule else "any of several" if "anyOf" in rule else "any")
    told = " or ".join(kind) if isinstance(kind, list) else str(kind)
    entity = f" ({rule['x-entity']} id)" if "x-entity" in rule else ""
    choices = f": {', '.join(map(str, rule['enum']))}" if "enum" in rule else ""
    return f"{told}{entity}{choices}"
