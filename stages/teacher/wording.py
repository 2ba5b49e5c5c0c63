"""How the scripted teacher puts things into words: requests, questions, replies and closing answers.

It says nothing that isn't in its script or in the results that it was shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from servers.kernel.dice import Dice

OPENINGS = {
    "plain": ("",),
    "polite": ("Hello! ", "Good morning. ", "Hi there, "),
    "terse": ("",),
    "chatty": ("Hey, ", "So, "),
}
CLOSINGS = {
    "plain": ("",),
    "polite": (" Thank you.", " Thanks in advance."),
    "terse": ("",),
    "chatty": ("", " Cheers!"),
}
LINKS = ("Then: ", "After that: ", "Also: ", "And then: ")
PERSONAS = tuple(OPENINGS)

_SHOWN_FIELDS = 2
_SHOWN_ITEMS = 2


def request(sentences: Sequence[Mapping[str, Any]], persona: str, first: bool, dice: Dice) -> str:
    """What the user says: each sentence filled in and linked to the one before, with a greeting at first."""
    parts = [_sentence(sentence) for sentence in sentences]
    linked = [parts[0], *(dice.choice(LINKS) + part for part in parts[1:])]
    opening = dice.choice(OPENINGS[persona]) if first else ""
    return f"{opening}{' '.join(linked)}{dice.choice(CLOSINGS[persona])}"


def _sentence(sentence: Mapping[str, Any]) -> str:
    text, withheld = str(sentence["ask"]), sentence["withheld"]
    for name in withheld:
        text = _left_vague(text, name)
    for key, value in sentence["values"].items():
        text = text.replace("{" + key + "}", str(value))
    parents = [] if withheld else sentence["parents"]
    whole = text[-1] in ".?!'" or str(sentence["ask"]).endswith("}")
    return _placed(text if whole else f"{text}.", parents)


def _left_vague(text: str, parameter: str) -> str:
    """The phrasing with a parameter unsaid: its first mention becomes vague, further details of it go."""
    slot = r"\{" + re.escape(parameter) + r"(?:\.\w+)?\}"
    first = re.sub(
        r"(?:\b(?:the|an?|my)\s+)?['\"#@]*" + slot + r"['\"]*", f"a certain {noun(parameter)}", text, count=1
    )
    return re.sub(r"\s*(?:\b(?:of|on|from|for|over|in|at|due|by|with)\b)?\s*['\"#@(]*" + slot + r"['\")]*", "", first)


def _placed(text: str, parents: Sequence[str]) -> str:
    return text + (f" (That's under {', '.join(parents)}.)" if parents else "")


def noun(parameter: str) -> str:
    """A parameter's name as a person would say it."""
    return parameter.removesuffix("_id").removesuffix("_ids").replace("_", " ")


def question(parameters: Sequence[str], dice: Dice) -> str:
    """Asks for what is missing."""
    wanted = " and ".join(noun(name) for name in parameters)
    return dice.choice(("Which {} do you mean?", "Could you tell me the {}, please?", "What {} should I use?")).format(
        wanted
    )


def details(values: Mapping[str, str], parents: Sequence[str]) -> str:
    """The user's reply to a question, with the holders of what was left unplaced."""
    text = "; ".join(f"the {noun(name)} is {value}" for name, value in values.items())
    return _placed(f"{text[0].upper()}{text[1:]}.", parents)


def missing_tool(dice: Dice) -> str:
    """Says that a tool for the (rest of the) request is missing."""
    return dice.choice(
        (
            "I'm sorry, none of my tools can do that.",
            "I don't have a tool for that, so I can't do it.",
            "That is beyond the tools that I have.",
        )
    )


def offer(dice: Dice) -> str:
    """Asks how to go on when a tool for the rest of the request is missing."""
    return dice.choice(
        (
            "I have no tool for the rest. How would you like to go on?",
            "The rest needs a tool that I don't have. Shall I leave it at this?",
        )
    )


def answer(results: Sequence[str]) -> str:
    """Closes a turn with what the last result shows."""
    result = json.loads(results[-1])
    if "error" in result:
        return f"That did not work: {result['error']['message']}"
    items = result.get("items")
    if isinstance(items, list):
        if not items:
            return "I found nothing that fits."
        return "I found: " + "; ".join(_brief(item, 2) for item in items[:_SHOWN_ITEMS]) + "."
    return f"Done: {_brief(result, _SHOWN_FIELDS)}."


def _brief(value: Any, fields: int) -> str:
    if not isinstance(value, dict):
        return str(value)
    plain = {k: v for k, v in value.items() if isinstance(v, str | int | float) and v != "" and not _is_id(k)}
    if not plain:
        return "as you asked"
    return ", ".join(f"{noun(key)} {str(item)[:60]}" for key, item in list(plain.items())[:fields])


def _is_id(key: str) -> bool:
    return key == "id" or key.endswith("_id")
