"""Registers: how each persona opens, links and phrases its sentences, and which phrasings it likes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from servers.kernel.dice import Dice

_ORDERS = """add arm assign attach bill block book bring buy cancel capture change charge check close comment confirm
    convert copy create delete dim disarm draft empty extract find freeze get give go hold install invite join keep
    label let limit list lock log make mark merge message move navigate note open order pack pay play post prepare
    publish purge put rate react read redeem refund remind replace reply report reserve restart restore run save
    schedule search sell send set share shift show sort start stop sum switch take tell tip track turn unfreeze
    unlock unpack update use vote watch write"""
IMPERATIVES = frozenset(_ORDERS.split())
"""Verbs that a request may begin with, as an order."""

_OTHERS = """any anything are can could did do does everything how in is it it's may my on one please the that there
    there's to we we'd we're we've what what's when where which who"""
_STARTERS = frozenset(_OTHERS.split())
_POLITE = re.compile(r"\b(please|could you|would you|would like|i'd like)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Register:
    """One persona's ways.

    Attributes:
        likes: weights of polite, plain and clipped phrasings.
        orders: how an order begins; `{}` is the order itself.
        links: what joins a sentence to the one before.
        openings: how a conversation begins.
        closings: how a message ends.
        after: how a message begins, by how the turn before ended.
        again: asks to try again.
    """

    likes: tuple[float, float, float]
    orders: tuple[str, ...]
    links: tuple[str, ...]
    openings: tuple[str, ...]
    closings: tuple[str, ...]
    after: dict[str, tuple[str, ...]]
    again: tuple[str, ...]


_REGISTERS = {
    "plain": Register(
        likes=(1, 3, 0.3),
        orders=("{}",),
        links=("Then {}", "After that, {}", "Also, {}", "{}"),
        openings=("",),
        closings=("",),
        after={
            "done": ("", "", "Good."), "listed": ("", "OK."),
            "failed": ("I see.", "All right."), "partial": ("OK.",),
        },
        again=("Then try that again.", "After that, try again.", "Then it should work."),
    ),
    "polite": Register(
        likes=(4, 1, 0.1),
        orders=("Could you please {}?", "Please {}", "Would you {}, please?"),
        links=("After that, {}", "And {}", "Then {}", "{}"),
        openings=("Hello! ", "Good morning. ", "Hi there. ", ""),
        closings=("", "", " Thank you.", " Thanks in advance."),
        after={
            "done": ("Thank you.", "Perfect, thanks.", ""), "listed": ("Thank you.", "Thanks, that helps.", ""),
            "failed": ("Thank you for trying.", "I see, thanks."), "partial": ("Thank you so far.",),
        },
        again=("Then please try again.", "Could you try it again after that?"),
    ),
    "terse": Register(
        likes=(0.1, 1, 5),
        orders=("{}",),
        links=("then {}", "{}", "also {}"),
        openings=("",),
        closings=("",),
        after={"done": ("",), "listed": ("", "ok."), "failed": ("ok.", "hm."), "partial": ("ok.",)},
        again=("then retry.", "and try again."),
    ),
    "chatty": Register(
        likes=(1.5, 3, 0.5),
        orders=("Can you {}?", "{}", "I need you to {}"),
        links=("Oh, and {}", "And while you're at it, {}", "Also, {}", "{}"),
        openings=("Hey, ", "Hi! ", "So, ", ""),
        closings=("", "", " Cheers!", " Thanks!"),
        after={
            "done": ("Great!", "Nice, thanks.", ""), "listed": ("Ah, good to know.", "Right.", ""),
            "failed": ("Ah, I didn't think of that.", "Oh well."), "partial": ("Half of it, fine.",),
        },
        again=("Then give it another go.", "And then have another try."),
    ),
    "formal": Register(
        likes=(3, 2, 0),
        orders=("I would like you to {}", "Kindly {}", "Please {}"),
        links=("In addition, {}", "Afterwards, {}", "Furthermore, {}", "{}"),
        openings=("Good day. ", "", ""),
        closings=("", "", " Thank you."),
        after={
            "done": ("Thank you.", ""), "listed": ("Thank you for the information.", ""),
            "failed": ("Understood.", "I understand."), "partial": ("Understood.",),
        },
        again=("Please repeat my earlier request afterwards.", "Then please make a second attempt."),
    ),
}  # fmt: skip

PERSONAS = tuple(_REGISTERS)


def register_of(persona: str) -> Register:
    """A persona's register."""
    return _REGISTERS[persona]


def liking(persona: str, ask: str) -> float:
    """How readily a persona uses a phrasing; never 0, so that every persona can ask for everything."""
    polite, plain, clipped = _REGISTERS[persona].likes
    if ask[0].islower() or (ask[0] == "{" and ask[-1] not in ".?!"):
        return clipped or 0.02
    return polite if _POLITE.search(ask) else plain


def phrased(text: str, ask: str, register: Register, dice: Dice) -> str:
    """A filled phrasing the persona's way: an order may become a question or a wish.

    Args:
        text: the phrasing with its values.
        ask: the phrasing itself, whose form decides (values may hold any punctuation).
        register: the persona's ways.
        dice: decides among them.
    """
    if ask.split()[0].lower() not in IMPERATIVES or _POLITE.search(ask):
        return text
    order = dice.choice(register.orders)
    if order == "{}":
        return text
    single = not re.search(r"[.;:?!] |\?", ask)
    if order.endswith("?"):
        if not single:
            return f"Please {lowered(text)}"
        return order.format(lowered(text.rstrip(".")))
    return order.format(lowered(text))


def linked(text: str, register: Register, dice: Dice) -> str:
    """A further sentence joined to the one before."""
    link = dice.choice(register.links)
    return text if link == "{}" else link.format(lowered(text))


def lowered(text: str) -> str:
    """A sentence to stand inside another; a name at its beginning keeps its capital."""
    first = text.split(" ", 1)[0].lower()
    return text[0].lower() + text[1:] if first in IMPERATIVES or first in _STARTERS else text
