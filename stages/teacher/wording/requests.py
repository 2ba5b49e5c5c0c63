"""What the user asks for: sentences filled in, left vague where something is withheld, and linked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from servers.kernel.dice import Dice
from stages.teacher.wording.nouns import noun, some
from stages.teacher.wording.registers import linked, lowered, phrased, register_of

_PREPOSITIONS = "of|on|from|for|over|in|at|due|by|with|to|into|under|about|as"
_DETERMINERS = "the|an?|my|our|this"
_BREAK = re.compile(r"(?<=[.;?!])\s+|,\s+")
_SLOT = re.compile(r"\{(\w+)(?:\.\w+)?\}")


def request(sentences: Sequence[Mapping[str, Any]], persona: str, after: str, retries: bool, dice: Dice) -> str:
    """A user's message.

    Args:
        sentences: what is asked for, in order.
        persona: who asks.
        after: how the turn before ended; "" begins the conversation.
        retries: whether what failed is to be tried again after that.
        dice: decides among the persona's ways.
    """
    register = register_of(persona)
    said = [_sentence(sentence, persona, dice) for sentence in sentences]
    parts = [said[0], *(linked(text, register, dice) for text in said[1:])]
    if after:
        parts = [dice.choice(register.after[after]), *parts]
    if retries:
        parts.append(dice.choice(register.again))
    opening = "" if after else dice.choice(register.openings)
    if opening.endswith(", "):
        parts[0] = lowered(parts[0])
    return f"{opening}{' '.join(part for part in parts if part)}{dice.choice(register.closings)}"


def placed(text: str, parents: Sequence[str], persona: str) -> str:
    """A sentence with the holders of what it names."""
    if not parents:
        return text
    where = ", ".join(parents)
    return f"{text} ({where})" if persona == "terse" else f"{text} (That's under {where}.)"


def _sentence(sentence: Mapping[str, Any], persona: str, dice: Dice) -> str:
    ask, withheld = str(sentence["ask"]), sentence["withheld"]
    for name in withheld:
        ask = left_vague(ask, name)
    text = ask
    for key, value in sentence["values"].items():
        text = text.replace("{" + key + "}", str(value))
    if not (text[-1] in ".?!'" or ask.endswith("}")):
        text += "" if persona == "terse" and ask[0].islower() else "."
    text = phrased(text, ask, register_of(persona), dice)
    return placed(_ended(text), [] if withheld else sentence["parents"], persona)


def _ended(text: str) -> str:
    return text if text[-1] in ".?!'\"" else f"{text}."


def left_vague(ask: str, parameter: str) -> str:
    """The phrasing with a parameter unsaid, as people leave it out.

    A clause that only says this goes; else a phrase with a preposition goes; else the thing is mentioned
    without saying which.
    """
    if parameter not in _SLOT.findall(ask):
        return ask
    clauses = [clause for clause in _BREAK.split(ask) if clause]
    others = [clause for clause in clauses if set(_SLOT.findall(clause)) != {parameter}]
    if others and len(others) < len(clauses) and any(len(clause.split()) > 1 for clause in others):
        text = _rejoined(ask, clauses, others)
        return left_vague(text, parameter)
    slot = r"\{" + re.escape(parameter) + r"(?:\.\w+)?\}"
    quoted = rf"['\"#@(]*{slot}['\")]*"
    word = noun(parameter)
    named = rf"(?:(?:{_DETERMINERS})\s+(?:[\w-]+\s+)?)?{quoted}(?!['\w])(?:\s+{re.escape(word)}\b)?"
    phrase = rf"\s+(?:{_PREPOSITIONS})\s+{named}"
    shorter = re.sub(phrase, "", ask)
    if shorter != ask and len(_SLOT.sub("", shorter).split()) > 1:
        return left_vague(shorter, parameter)
    is_thing = bool(re.search(r"\{" + re.escape(parameter) + r"\.\w+\}", ask)) or parameter.endswith("_id")
    owned = re.sub(rf"(?:\b(?:{_DETERMINERS})\s+)?{slot}'s\b", f"my {word}'s", ask)
    mention = rf"(?:\b(?:{_DETERMINERS})\s+)?(?:{re.escape(word)}\s+)?{quoted}(?:\s+{re.escape(word)}\b)?"
    vague = re.sub(mention, some(parameter, is_thing), owned, count=1)
    vague = re.sub(rf"\s*(?:\b(?:{_PREPOSITIONS})\b)?\s*{quoted}", "", vague)
    return vague[0].upper() + vague[1:] if ask[0] in "{'\"" else vague


def _rejoined(ask: str, clauses: Sequence[str], kept: Sequence[str]) -> str:
    """The kept clauses with the breaks that stood after them, ended as the phrasing was."""
    breaks = [*_BREAK.findall(ask), ""]
    pieces: list[str] = []
    for clause, gap in zip(clauses, breaks, strict=False):
        if clause in kept:
            begins = not pieces or pieces[-1].rstrip()[-1] in ".?!"
            pieces.append((clause[0].upper() + clause[1:] if begins and ask[0].isupper() else clause) + gap)
        elif pieces and clause[-1] in ".?!" and pieces[-1].rstrip()[-1] not in ".?!":
            pieces[-1] = pieces[-1].rstrip(" ,;") + clause[-1] + " "
    text = "".join(pieces).rstrip(" ,;")
    if ask[-1] in ".?!" and text[-1] not in ".?!":
        text += "."
    return text[0].upper() + text[1:] if ask[0].isupper() or ask[0] == "{" else text
