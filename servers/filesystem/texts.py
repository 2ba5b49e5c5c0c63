"""What stands in the seed's files: believable lines for each kind of file."""

from __future__ import annotations

from datetime import timedelta

from servers.kernel.dice import Dice
from servers.kernel.session import EPOCH
from servers.shared.places import CITIES

_SUBJECTS = ("The budget", "The schedule", "The contract", "The invoice", "The survey", "The prototype", "The report")
_VERBS = (
    "is ready for review",
    "needs another week",
    "was approved on Monday",
    "waits for Finance",
    "is still a draft",
)
_TASKS = ("call the supplier", "renew the licence", "check the invoice", "book the meeting room", "update the plan")
_EVENTS = ("user logged in", "cache cleared", "backup finished", "request timed out", "disk almost full", "job started")
_KEYS = ("timeout", "retries", "port", "workers", "interval", "max_size", "verbose", "region")
_ITEMS = ("paper", "coffee", "cables", "tickets", "hotel", "software", "printing", "taxi")


def text_for(dice: Dice, name: str) -> str:
    """The content of a text file of this name."""
    ending = name.rpartition(".")[2]
    writer = {"log": _log, "csv": _csv, "py": _code, "sh": _script, "conf": _settings, "ini": _settings}.get(ending)
    return (writer or _prose)(dice, name)


def _prose(dice: Dice, name: str) -> str:
    title = name.rpartition(".")[0].replace("-", " ").replace("_", " ").title() or name
    lines = [f"# {title}", f"Status: {dice.choice(('draft', 'draft', 'final'))}"]
    for _ in range(dice.integer(2, 5)):
        lines.append(
            f"- TODO {dice.choice(_TASKS)}"
            if dice.chance(0.35)
            else f"{dice.choice(_SUBJECTS)} for {dice.choice(CITIES).name} {dice.choice(_VERBS)}."
        )
    return "\n".join(lines) + "\n"


def _log(dice: Dice, name: str) -> str:
    at, lines = EPOCH - timedelta(days=dice.integer(1, 60)), []
    for _ in range(dice.choice((6, 8, 12, 40))):
        at += timedelta(seconds=dice.integer(5, 4000))
        level = dice.weighted(("INFO", "WARN", "ERROR"), (6, 2, 2))
        lines.append(f"{at:%Y-%m-%d %H:%M:%S} {level} {dice.choice(_EVENTS)} ({dice.integer(100, 999)})")
    return "\n".join(lines) + "\n"


def _csv(dice: Dice, name: str) -> str:
    rows = [
        f"2026-{dice.integer(1, 2):02d}-{dice.integer(1, 28):02d},{dice.choice(_ITEMS)},{dice.integer(3, 480)}"
        for _ in range(dice.integer(4, 10))
    ]
    return "\n".join(["date,item,amount", *rows]) + "\n"


def _code(dice: Dice, name: str) -> str:
    stem, verb = name.rpartition(".")[0], dice.choice(("load", "clean", "merge", "plot"))
    return (
        f"import sys\n\n# TODO {dice.choice(_TASKS)}\n\ndef {verb}_{stem}(rows):\n"
        f"    limit = {dice.integer(10, 900)}\n    return rows[:limit]\n"
    )


def _script(dice: Dice, name: str) -> str:
    return f"#!/bin/sh\nset -e\necho start {name}\nsleep {dice.integer(1, 30)}\necho finished\n"


def _settings(dice: Dice, name: str) -> str:
    return "\n".join(["[main]", *(f"{key} = {dice.integer(1, 9000)}" for key in dice.sample(_KEYS, 4))]) + "\n"
