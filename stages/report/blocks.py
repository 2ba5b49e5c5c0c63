"""What a section is made of; the template knows how each kind looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph."""

    text: str
    kind: ClassVar[str] = "note"


@dataclass(frozen=True, slots=True)
class Facts:
    """A few names with their values, side by side."""

    pairs: Sequence[tuple[str, str]]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; numbers are set flush right.

    `folded` hides them behind the caption, `sortable` sorts them by the heading that is clicked.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False
    sortable: bool = False
    kind: ClassVar[str] = "table"


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, by its path from the page, and what it shows in words."""

    source: str
    caption: str
    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, slots=True)
class Line:
    """One message of an episode; `calls` are its tool calls as text."""

    role: str
    text: str
    calls: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One episode: a headline, its messages, and what it earned."""

    headline: str
    lines: Sequence[Line]
    rewards: Sequence[tuple[str, str]]
    truth: Sequence[str] = ()
    kind: ClassVar[str] = "dialogue"


Block: TypeAlias = Note | Facts | Table | Figure | Dialogue


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many decimals, or a dash for none."""
    return "–" if value is None else f"{value:,.{digits}f}"


def share(part: float, whole: float) -> str:
    """A percentage, or a dash of nothing."""
    return f"{part / whole:.1%}" if whole else "–"
