"""From sections to one HTML page; everything that comes from data is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from stages.report.blocks import Block, Table

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its blocks; `key` is its anchor."""

    key: str
    title: str
    blocks: Sequence[Block]


def render(title: str, subtitle: str, sections: Sequence[Section], links: Sequence[tuple[str, str]] = ()) -> str:
    """The page as text, its style sheet inside; `links` are other pages, as (address, name)."""
    sortable = any(isinstance(block, Table) and block.sortable for section in sections for block in section.blocks)
    return fill("page.html", title=title, subtitle=subtitle, sections=sections, links=links, sortable=sortable)


def fill(template: str, **values: Any) -> str:
    """A template with its values, each of them escaped."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
