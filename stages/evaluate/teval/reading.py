"""What an answer says, however it is written. Text of a model is parsed as data, and never evaluated.

Objects may stand in a code fence or in prose, and in JSON or Python notation: the prompts ask for both.
Text that is too long to be an answer, or nested deeper than a parser goes, is unreadable.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import TypeVar, cast

from stages.records import Json

ContainerT = TypeVar("ContainerT", bound="dict[str, Json] | list[Json]")

_LONGEST = 20_000
_FENCE = "```json"

_LETTER = r"(?P<letter>[B-Eb-e]|A|a(?! [a-z]))"
_OPEN = r"(?:\\boxed)?[\[({<\"'“【「]?"
_CLOSE = r"[\])}>\"'”】」]?"
_MARKED = re.compile(
    r"(?:\b(?i:answer|choice|option)\b|答案|选项|选择|回答)"
    rf"(?:(?i: is)?(?:是|为)?\s?[:=]\s?{_OPEN}{_LETTER}|(?: is)?(?:是|为)? ?-?\s?{_OPEN}(?P<capital>[A-E]))"
    r"(?P<rest>[^A-Za-z].*)?$",
    re.MULTILINE,
)
_ALONE = re.compile(
    rf"^{_OPEN}(?:(?P<letter>[A-Ea-e]){_CLOSE}(?:[.,:;)\-].*|\s+[^a-z\s].*)?|(?P<capital>[B-E])\s.*)$", re.MULTILINE
)
_HEDGE = re.compile(rf"^{_CLOSE}\s*(?:[,/、或和]|\bor\b|\band\b)\s*[A-E](?![A-Za-z])")


def read_object(text: str, kind: type[ContainerT]) -> ContainerT | None:
    """The first object (or list) in a text; None if there is none that can be read."""
    opening, closing = ("[", "]") if kind is list else ("{", "}")
    body = text[text.find(_FENCE) + len(_FENCE) :] if _FENCE in text else text
    start = body.find(opening)
    if start < 0 or len(body) - start > _LONGEST:
        return None
    body = body[start:]
    found = _json(body)
    if found is None:
        found = read_literal(body[: body.rfind(closing) + 1])
    if found is None:
        found = _json(body.replace("'", '"'))
    return cast("ContainerT", found) if isinstance(found, kind) else None


def read_literal(text: str) -> Json:
    """A value in Python notation; None if it is anything else."""
    if len(text) > _LONGEST:
        return None
    try:
        return cast("Json", ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def read_template(text: str, template: Mapping[str, str]) -> tuple[str, str] | None:
    """Action and arguments of an answer in an instruct template; None if it is not in that form.

    Of repeated markers the last ones count, as in a greedy match of the template.
    """
    before = template.get("thought_start", "")
    between = template.get("thought_end", "") + template.get("action_start", "")
    middle = template.get("action_end", "") + template.get("args_start", "")
    after = template.get("args_end", "")
    start = text.find(before)
    end = text.rfind(after) if after else len(text)
    arguments = text.rfind(middle, max(start, 0), max(end, 0))
    action = text.rfind(between, max(start, 0) + len(before), max(arguments, 0))
    if min(start, end, arguments, action) < 0:
        return None
    return text[action + len(between) : arguments].strip(), text[arguments + len(middle) : end].strip()


def read_choice(text: str) -> str | None:
    """The letter, A to E, that an answer chooses; None if it chooses none, or more than one.

    It may stand after "Answer", alone, or at the start of a line before a sign, in either case, full or half
    width, in brackets or bold. A word that merely begins with such a letter is no choice.
    """
    plain = unicodedata.normalize("NFKC", text[:_LONGEST])
    plain = re.sub(r"[*_`#]", "", plain)
    plain = "\n".join(" ".join(line.split()) for line in plain.splitlines())
    if marked := _MARKED.search(plain):
        return None if _HEDGE.search(marked["rest"] or "") else _letter(marked)
    alone = {_letter(match) for match in _ALONE.finditer(plain)}
    return alone.pop() if len(alone) == 1 else None


def _letter(match: re.Match[str]) -> str:
    return str(match["letter"] or match["capital"]).upper()


def _json(text: str) -> Json:
    try:
        return cast("Json", json.JSONDecoder().raw_decode(text)[0])
    except (ValueError, RecursionError):
        return None
