"""The files behind a viewer page: scripts that hand over plain data, since a page from disk may fetch nothing.

A directory has the index in pages of columns (`index-0.js`), the names and searchable texts in smaller pages
(`text-0.js`, read as they come into sight) and the bodies in shards of about a megabyte (`body-0.js`). Each file is
one call `put(name, data)`. What is the same for many records, such as a server's name, is a number in the index; the
header knows the names, and how many records have each, so that a page can be shown before its index is read.

A column of the index is its different values, and for each record the place of its own among them: one byte or two,
in base64. A column of one value needs no places. Texts of a page are one string, a record a line.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

INDEX_PAGE = 10_000
"""Records in one page of the index."""

TEXT_PAGE = 2_000
"""Records in one page of texts; it divides `INDEX_PAGE`."""

BODY_CHARACTERS = 1_000_000
"""A shard of bodies is closed when it has so many characters."""

Value: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Facet:
    """A property with few values, by which records are filtered; with `many` a record has any number of them."""

    key: str
    label: str
    many: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that records are filtered by, from least to most."""

    key: str
    label: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: what the index says of it, what the search reads, and all there is to see once it is opened."""

    name: str
    facets: Mapping[str, Value]
    measures: Mapping[str, float | None]
    text: str
    body: Mapping[str, Any]


def as_script(value: Any) -> str:
    """JSON that is safe inside a script, on a page or in a file: plain ASCII without angle brackets and ampersands."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@dataclass
class ShardWriter:
    """Writes records one by one, so that a table of any length needs little memory."""

    directory: Path
    facets: Sequence[Facet]
    measures: Sequence[Measure]
    count: int = 0
    _codes: dict[str, dict[str, int]] = field(default_factory=dict)
    _counts: dict[str, list[int]] = field(default_factory=dict)
    _ranges: dict[str, list[float]] = field(default_factory=dict)
    _index: dict[str, list[Any]] = field(default_factory=dict)
    _texts: list[tuple[str, str]] = field(default_factory=list)
    _bodies: list[str] = field(default_factory=list)
    _characters: int = 0
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)

    def add(self, entry: Entry) -> None:
        """Take in one record."""
        for facet in self.facets:
            value = entry.facets[facet.key]
            codes = [self._code(facet.key, item) for item in ([value] if isinstance(value, str) else value)]
            self._column(facet.key).append(codes if facet.many else codes[0])
        for measure in self.measures:
            self._column(measure.key).append(self._measured(measure.key, entry.measures[measure.key]))
        self._texts.append((entry.name, entry.text))
        self._add_body(as_script(entry.body))
        self.count += 1
        if self.count % TEXT_PAGE == 0:
            self._flush_texts()
        if self.count % INDEX_PAGE == 0:
            self._flush_index()

    def close(self) -> dict[str, Any]:
        """Write what is left, and return the header that the page is drawn with."""
        self._flush_texts()
        self._flush_index()
        self._flush_bodies()
        return {
            "count": self.count,
            "index_page": INDEX_PAGE,
            "text_page": TEXT_PAGE,
            "body_starts": self._starts,
            "facets": [
                {
                    "key": facet.key,
                    "label": facet.label,
                    "many": facet.many,
                    "values": list(self._codes.get(facet.key, {})),
                    "counts": self._counts.get(facet.key, []),
                }
                for facet in self.facets
            ],
            "measures": [
                {"key": measure.key, "label": measure.label, "range": self._ranges.get(measure.key)}
                for measure in self.measures
            ],
        }

    def _column(self, key: str) -> list[Any]:
        return self._index.setdefault(key, [])

    def _code(self, key: str, value: str) -> int:
        codes, counts = self._codes.setdefault(key, {}), self._counts.setdefault(key, [])
        code = codes.setdefault(value, len(codes))
        if code == len(counts):
            counts.append(0)
        counts[code] += 1
        return code

    def _measured(self, key: str, value: float | None) -> float | None:
        if value is None:
            return None
        rounded = round(value, 4)
        low, high = self._ranges.get(key, (rounded, rounded))
        self._ranges[key] = [min(low, rounded), max(high, rounded)]
        return rounded

    def _add_body(self, text: str) -> None:
        if not self._bodies:
            self._starts.append(self.count)
        self._bodies.append(text)
        self._characters += len(text)
        if self._characters >= BODY_CHARACTERS:
            self._flush_bodies()

    def _flush_bodies(self) -> None:
        if self._bodies:
            self._write(f"body-{len(self._starts) - 1}", f"[{','.join(self._bodies)}]")
        self._bodies, self._characters = [], 0

    def _flush_texts(self) -> None:
        if self._texts:
            self._write(f"text-{(self.count - 1) // TEXT_PAGE}", as_script(_lines(self._texts)))
        self._texts = []

    def _flush_index(self) -> None:
        if self._index:
            columns = {key: coded(column) for key, column in self._index.items()}
            self._write(f"index-{(self.count - 1) // INDEX_PAGE}", as_script(columns))
        self._index = {}

    def _write(self, name: str, script: str) -> None:
        (self.directory / f"{name}.js").write_text(f'put("{name}",{script});\n', encoding="ascii")


def coded(column: Sequence[Any]) -> dict[str, Any]:
    """A column of at most 65,536 entries as `values`, and `places` in big-endian order if there is more than one."""
    keys = [tuple(entry) if isinstance(entry, list) else entry for entry in column]
    values = list(dict.fromkeys(keys))
    if len(values) == 1:
        return {"values": values}
    place_of = {value: place for place, value in enumerate(values)}
    width = 1 if len(values) <= 256 else 2
    places = b"".join(place_of[key].to_bytes(width) for key in keys)
    return {"values": values, "places": b64encode(places).decode("ascii")}


def _lines(texts: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """Names and texts, a record a line: lines within a text are parted by tabs."""
    names = (name.replace("\n", " ") for name, _ in texts)
    said = (text.replace("\t", " ").replace("\n", "\t") for _, text in texts)
    return {"name": "\n".join(names), "text": "\n".join(said)}
