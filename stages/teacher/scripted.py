"""The scripted teacher: it plays a plan made on live state.

It needs no network and no key, and the same request gets the same answer. A request carries its plan in
the field `script`, which no other teacher is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from servers.kernel.dice import Dice
from stages.teacher import wording

PROVIDER = "scripted"


def write(script: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer to one request, as an OpenAI assistant message.

    Raises:
        ValueError: the script has no known role.
    """
    dice = Dice(int(script.get("seed", 0)), json.dumps(messages[-1], sort_keys=True, default=str))
    match script.get("role"):
        case "query":
            asked = script["sentences"], script["persona"], script["after"], script["retries"]
            return {"content": wording.request(*asked, dice)}
        case "details":
            persona = script.get("persona", "plain")
            return {"content": wording.details(script["values"], script["parents"], persona, dice)}
        case "assistant":
            return _act(script, messages, dice)
        case "edges":
            return {"content": json.dumps(_edges(json.loads(messages[-1]["content"])))}
        case role:
            raise ValueError(f"the scripted teacher has no role {role!r}")


def _act(script: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], dice: Dice) -> dict[str, Any]:
    start = max(i for i, message in enumerate(messages) if message["role"] == "user")
    turn = messages[start:]
    played = sum(bool(message.get("tool_calls")) for message in turn)
    if played < len(script["batches"]):
        calls = [
            {
                "id": f"call_{start}_{played}_{n}",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for n, call in enumerate(script["batches"][played])
        ]
        return {"content": None, "tool_calls": calls}
    match script["close"]:
        case "question":
            shown = [message["content"] for message in turn if message["role"] == "tool"]
            return {"content": wording.question(script["missing"], shown, dice)}
        case "decline":
            return {"content": wording.missing_tool(dice)}
        case "offer":
            return {"content": wording.offer(wording.reports(script["actions"], turn), dice)}
    return {"content": wording.answer(script["actions"], turn, dice)}


def _edges(pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Classify tool pairs from their schemas alone, as a model would from reading them."""
    return [
        {"first": p["first"]["name"], "second": p["second"]["name"], **_edge(p["first"], p["second"])} for p in pairs
    ]


def _edge(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, str]:
    forward = set(first["returns"]) & set(second["requires"])
    backward = set(second["returns"]) & set(first["requires"])
    if forward or backward:
        by_reading = first["read_only"] or not second["read_only"]
        is_forward = bool(forward) and (not backward or by_reading)
        return {"label": "explicit", "direction": "forward" if is_forward else "backward"}
    shared = set(first["requires"]) & set(second["requires"])
    if shared and not first["read_only"] and not second["read_only"]:
        return {"label": "implicit", "direction": "forward"}
    return {"label": "none", "direction": "forward"}
