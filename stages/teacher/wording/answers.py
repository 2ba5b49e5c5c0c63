"""Closing answers: what the calls of a turn brought, in the user's terms, and what they did not.

An answer states results and error messages as the tools gave them, and claims nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from servers.kernel.dice import Dice
from stages.sampling import LABELS
from stages.teacher.wording.nouns import listed, moments, noun, plural

_READING = ("list", "get", "find", "search", "show", "check", "read", "compare", "count", "view", "track", "geocode",
            "reverse")  # fmt: skip
_PARTICIPLES = {
    "add": "added", "pay": "paid",
    "admit": "admitted", "apply": "applied", "book": "booked", "buy": "bought", "cancel": "cancelled",
    "choose": "chosen", "control": "controlled", "copy": "copied", "dim": "dimmed", "draft": "drafted",
    "empty": "emptied", "freeze": "frozen", "hand": "handed", "hold": "held", "log": "logged", "make": "made",
    "pin": "pinned", "post": "posted", "put": "put", "refund": "refunded", "reply": "replied", "repost": "reposted",
    "retry": "retried", "send": "sent", "set": "set", "shift": "shifted", "stop": "stopped", "tip": "tipped",
    "transfer": "transferred", "undo": "undone", "unfreeze": "unfrozen", "write": "written",
}  # fmt: skip
_WITHOUT_ARTICLE = ("between", "to", "in", "into", "for", "from", "on", "out")
_SAID_AS_THEY_ARE = ("on", "at", "from", "to", "until", "by")
_SHOWN_FIELDS = 2
_SHOWN_ITEMS = 3
_LONGEST = 60


def answer(actions: Sequence[Mapping[str, Any]], turn: Sequence[Mapping[str, Any]], dice: Dice) -> str:
    """Closes a turn.

    Args:
        actions: the calls that the user's sentences asked for, in order; lookups are not told.
        turn: the messages of the turn so far, as chat completions.
        dice: decides among phrasings.
    """
    told = reports(actions, turn) or ["I could not get that done."]
    failed = any("error" in result for _, result in _outcomes(actions, turn))
    if failed and dice.chance(0.5):
        told.append(
            dice.choice(("Nothing else was changed.", "How would you like to go on?", "Shall I do it differently?"))
        )
    return " ".join(told)


def reports(actions: Sequence[Mapping[str, Any]], turn: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each action, those that worked first."""
    outcomes = sorted(_outcomes(actions, turn), key=lambda outcome: "error" in outcome[1])
    return list(dict.fromkeys(_sentence(name, result) for name, result in outcomes))


def _outcomes(
    actions: Sequence[Mapping[str, Any]], turn: Sequence[Mapping[str, Any]]
) -> list[tuple[str, Mapping[str, Any]]]:
    """Each action's tool and result, the last where it was called again."""
    results = {m["tool_call_id"]: json.loads(m["content"]) for m in turn if m["role"] == "tool"}
    ran = [
        (call["function"]["name"], call["function"]["arguments"], results[call["id"]])
        for message in turn
        for call in message.get("tool_calls") or ()
    ]
    asked = [(str(action["name"]), json.dumps(action["arguments"])) for action in actions]
    found = ([result for name, text, result in ran if (name, text) == action] for action in asked)
    return [(name, matches[-1]) for (name, _), matches in zip(asked, found, strict=True) if matches]


def _sentence(tool: str, result: Mapping[str, Any]) -> str:
    verb, _, rest = tool.partition("_")
    what = rest.replace("_", " ")
    items = result.get("items")
    if "error" in result:
        tried = "look that up" if verb in _READING else f"{verb} {_object(what)}"
        return f"I could not {tried}: {_ended(result['error']['message'])}"
    if isinstance(items, list):
        return _of_list(verb, what, items, result)
    shown = moments(_brief(result, _SHOWN_FIELDS))
    if verb in _READING:
        return f"Here is {_object(what)}: {shown}."
    return f"I've {_participle(verb)} {_object(what)}" + (f": {shown}." if shown else ".")


def _of_list(verb: str, what: str, items: Sequence[Any], result: Mapping[str, Any]) -> str:
    things = what if what.endswith("s") else plural(what)
    if not items:
        return f"I found no {things} that fit."
    total = result.get("total", len(items))
    names = [moments(_brief(item, 1 if _label(item) else _SHOWN_FIELDS)) for item in items[:_SHOWN_ITEMS]]
    if verb == "get":
        more = f", and {total - len(names)} more" if total > len(names) else ""
        return f"Here is {_object(what)}: {listed(names)}{more}."
    if total <= len(names):
        return f"I found {total} {things if total > 1 else what.removesuffix('s')}: {listed(names)}."
    return f"I found {total} {things}; the first are {listed(names)}."


def _object(what: str) -> str:
    if not what:
        return "it"
    return what if what.split(maxsplit=1)[0] in _WITHOUT_ARTICLE else f"the {what}"


def _participle(verb: str) -> str:
    if verb in _PARTICIPLES:
        return _PARTICIPLES[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


def _label(item: Any) -> str:
    return next((str(item[key]) for key in LABELS if item.get(key)), "") if isinstance(item, dict) else ""


def _brief(value: Any, fields: int) -> str:
    """What a thing is called, and a few of its fields that are no ids."""
    if not isinstance(value, dict):
        return str(value)
    label = _label(value)
    plain = {
        key: item
        for key, item in value.items()
        if isinstance(item, str | int | float) and not isinstance(item, bool) and item != "" and str(item) != label
        and not (key == "id" or key.endswith("_id"))
    }  # fmt: skip
    told = [
        f"{key if key in _SAID_AS_THEY_ARE else noun(key)} {_short(item)}"
        for key, item in list(plain.items())[: fields - bool(label)]
    ]
    return ", ".join([*([_short(label)] if label else []), *told])


def _short(value: Any) -> str:
    text = " ".join(str(value).split()).rstrip(".")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"


def _ended(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."
