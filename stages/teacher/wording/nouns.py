"""What people call a parameter, a field or a day."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NOUNS = {
    "at": "time",
    "celsius": "temperature",
    "check_in": "arrival day",
    "cvv": "security code",
    "due_on": "due date",
    "ends_on": "last day",
    "iban_number": "IBAN",
    "issue_key": "issue",
    "latitude": "latitude",
    "minutes_before": "number of minutes",
    "on": "day",
    "order_line_id": "ordered item",
    "pin": "PIN",
    "query": "search term",
    "source_key": "issue",
    "speed_kmh": "speed",
    "stars": "number of stars",
    "starts_at": "start time",
    "starts_on": "first day",
    "symbol": "stock",
    "target_key": "issue",
    "user_name": "user",
    "vehicle_pin": "PIN",
}
_NOT_OWNED = {
    "channel", "city", "destination", "dish", "flight", "flight number", "hotel", "item", "label", "listing",
    "origin", "participant", "person", "place", "product", "restaurant", "room", "seat", "starting point", "stock",
    "stop", "store", "user", "username",
}  # fmt: skip
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_MOMENT = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2})(?::\d{2})?Z?)?")


def noun(name: str) -> str:
    """A parameter's or field's name as a person would say it."""
    plain = name.removesuffix("_ids").removesuffix("_id")
    if plain.endswith("path"):
        return {"path": "file or folder", "destination_path": "target folder"}.get(plain, plain.replace("_", " "))
    return _NOUNS.get(name, plain.replace("_", " "))


def plural(word: str) -> str:
    """More than one of it; only the last word of several changes, and one that is plural already stays."""
    if is_plural(word):
        return word
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    if word == "person":
        return "people"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def is_plural(word: str) -> bool:
    """Whether it names several things already: recipients, hours."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def some(name: str, is_thing: bool) -> str:
    """A mention of something without saying which or how much."""
    word = noun(name)
    if word == "file or folder":
        return "one of my files"
    if is_thing:
        return f"one of {'the' if word in _NOT_OWNED else 'my'} {plural(word)}"
    return {"amount": "some money", "quantity": "some", "text": "something", "description": "something"}.get(
        word, f"some {word}" if is_plural(word) else f"{article(word)} {word}"
    )


def article(word: str) -> str:
    """ "an" before a vowel, else "a"."""
    return "an" if word[0] in "aeioAEIO" else "a"


def listed(items: Sequence[str], last: str = "and") -> str:
    """Items as a list in a sentence."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def moments(text: str) -> str:
    """A text with ISO days and times as people say them."""

    def said(found: re.Match[str]) -> str:
        year, month, day, time = found.groups()
        if not 1 <= int(month) <= len(_MONTHS):
            return found.group()
        return f"{int(day)} {_MONTHS[int(month) - 1]} {year}" + (f" at {time}" if time else "")

    return _MOMENT.sub(said, text)
