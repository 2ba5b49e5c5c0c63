"""Questions that the assistant asks, the user's replies to them, and words for a tool that is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from servers.kernel.dice import Dice
from stages.sampling import LABELS
from stages.teacher.wording.nouns import is_plural, listed, noun
from stages.teacher.wording.requests import placed

MOST_OPTIONS = 8
"""Options that a question names at most."""


def question(parameters: Sequence[str], results: Sequence[str], dice: Dice) -> str:
    """Asks for what is missing; names the options where a result has just shown a few."""
    options = _options(results[-1]) if results else []
    names = [noun(name) for name in parameters]
    if not options:
        wanted = listed(names)
        forms = ("Which {} do you mean?", "Could you tell me the {}, please?", "What {} should I use?")
        return dice.choice(forms).format(wanted)
    first, *more = names
    asked = f"Which {first} do you mean: {listed(options, 'or')}?"
    return asked + (f" And could you tell me the {listed(more)}?" if more else "")


def _options(result: str) -> list[str]:
    items = json.loads(result).get("items", [])
    labels = [next((str(item[key]) for key in LABELS if item.get(key)), "") for item in items]
    return labels if 1 < len(labels) <= MOST_OPTIONS and all(labels) else []


def details(values: Mapping[str, str], parents: Sequence[str], persona: str, dice: Dice) -> str:
    """The user's reply to a question, with the holders of what was left unplaced."""
    told = [f"the {noun(k)} {'are' if is_plural(noun(k)) else 'is'} {value}" for k, value in values.items()]
    if persona == "terse":
        told = list(values.values()) if len(values) == 1 else [f"{noun(k)} {value}" for k, value in values.items()]
        return placed(_ended(", ".join(told)), parents, persona)
    if len(values) == 1 and dice.chance(0.4):
        value = next(iter(values.values()))
        text = dice.choice(("I mean {}", "{}, please", "It's {}")).format(value)
    else:
        text = "; ".join(told)
        text = text[0].upper() + text[1:]
    opening = {"chatty": "Oh, sorry! ", "polite": "Sorry about that. ", "formal": "Certainly. "}.get(persona, "")
    return placed(f"{opening if dice.chance(0.5) else ''}{_ended(text)}", parents, persona)


def _ended(text: str) -> str:
    return text if text[-1] in ".?!" else f"{text}."


def missing_tool(dice: Dice) -> str:
    """Says that a tool for the request is missing."""
    return dice.choice(
        (
            "I'm sorry, none of my tools can do that.",
            "I don't have a tool for that, so I can't do it.",
            "That is beyond the tools that I have.",
            "I can't help with that here: no tool of mine does it.",
        )
    )


def offer(done: Sequence[str], dice: Dice) -> str:
    """Says what was done, if anything, that a tool for the rest is missing, and asks how to go on."""
    rest = "the rest" if done else "that"
    asked = dice.choice(
        (
            f"I have no tool for {rest}. How would you like to go on?",
            f"For {rest} I would need a tool that I don't have. Shall I leave it at this?",
            f"I can't do {rest} with the tools that I have. What would you like instead?",
        )
    )
    return " ".join([*done, asked])
