"""Lists as tools return them: one page, in a documented order, with the total."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeAlias, TypeVar

from pydantic import Field

T = TypeVar("T")

Limit: TypeAlias = Annotated[int, Field(ge=1, le=50)]
"""Most items on a page. Tools default to 5, since a model reads every token."""

Offset: TypeAlias = Annotated[int, Field(ge=0, le=100_000)]
"""How many items to skip."""

Query: TypeAlias = Annotated[str, Field(max_length=80)]
"""Words to look for; see `search`."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of the items, and how many there are; `next_offset` is absent on the last page."""

    items: list[T]
    total: int
    next_offset: int | None = None


def paginate(items: Sequence[T], limit: int, offset: int = 0) -> Page[T]:
    """The page of `items` that starts at `offset`."""
    end = offset + limit
    return Page(list(items[offset:end]), len(items), end if end < len(items) else None)


def search(items: Iterable[T], query: str, text: Callable[[T], str]) -> list[T]:
    """Items whose text holds every word of the query, without regard to case, in the given order."""
    found = list(items)
    for word in query.casefold().split():
        found = [item for item in found if word in text(item).casefold()]
    return found
