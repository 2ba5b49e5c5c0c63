"""Reads a viewer's data as its page does."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any


def read(path: Path) -> Any:
    """What a data file hands over."""
    text = path.read_text(encoding="ascii")
    assert text.startswith(f'put("{path.stem}",') and text.endswith(");\n")
    return json.loads(text[len(f'put("{path.stem}",') : -3])


def header(page: Path) -> dict[str, Any]:
    """The header inside a page."""
    found = re.search(r'<script type="application/json" id="header">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    value: dict[str, Any] = json.loads(found[1])
    return value


def records(directory: Path, head: dict[str, Any]) -> list[dict[str, Any]]:
    """Every record: its columns by name, its text and its body."""
    found: list[dict[str, Any]] = []
    for page in range(-(-head["count"] // head["index_page"])):
        length = min(head["index_page"], head["count"] - page * head["index_page"])
        columns = {key: decoded(column, length) for key, column in read(directory / f"index-{page}.js").items()}
        found += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    pages = [read(directory / f"text-{n}.js") for n in range(-(-head["count"] // head["text_page"]))]
    lines = [line for page in pages for line in zip(page["name"].split("\n"), page["text"].split("\n"), strict=True)]
    ends = [*head["body_starts"], head["count"]][1:]
    for shard, (start, end) in enumerate(zip(head["body_starts"], ends, strict=True)):
        bodies = read(directory / f"body-{shard}.js")
        assert len(bodies) == end - start
        for offset, body in enumerate(bodies):
            found[start + offset]["body"] = body
    for record, (name, text) in zip(found, lines, strict=True):
        record |= {"name": name, "text": text}
    return found


def decoded(column: dict[str, Any], length: int) -> list[Any]:
    """A coded column, entry by entry."""
    values = column["values"]
    if "places" not in column:
        return values * length
    places, width = b64decode(column["places"]), 1 if len(values) <= 256 else 2
    assert len(places) == width * length
    return [values[int.from_bytes(places[at : at + width])] for at in range(0, len(places), width)]


def named(head: dict[str, Any], record: dict[str, Any], key: str) -> Any:
    """The value of a facet, or all of them."""
    facet = next(one for one in head["facets"] if one["key"] == key)
    code = record[key]
    return [facet["values"][one] for one in code] if facet["many"] else facet["values"][code]
