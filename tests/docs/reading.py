"""Markdown as data: the repository's pages, their code, their links and the anchors of their headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("docs", "flows", "profiles", "servers", "stages", "tests")
HOWTOS = ROOT / "docs" / "howto"

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.M | re.S)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LINK = re.compile(r"!?\[[^\[\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.*)$", re.M)


@dataclass(frozen=True)
class Page:
    """A Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """The text without its fenced code."""
        return _FENCE.sub("", self.text)

    def fences(self, *languages: str) -> list[str]:
        """The fenced code in one of the languages, without the indentation of the list that it stands in."""
        found = (m for m in _FENCE.finditer(self.text) if m["language"] in languages)
        return [re.sub(rf"^{m['indent']}", "", m["body"], flags=re.M) for m in found]

    def spans(self) -> list[str]:
        """The code within sentences, on one line each."""
        return [" ".join(span.split()) for span in _SPAN.findall(self.prose)]

    def links(self) -> list[str]:
        """The targets of links and pictures."""
        return _LINK.findall(_SPAN.sub("", self.prose).replace("](\n", "]("))

    def anchors(self) -> set[str]:
        """What a link to a heading may name, by GitHub's rule, which the site follows."""
        seen: Counter[str] = Counter()
        found = set()
        for heading in _HEADING.findall(self.prose):
            slug = slug_of(heading)
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
        return found


def slug_of(heading: str) -> str:
    """A heading's anchor: lower case, spaces as hyphens, other signs left out."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def pages() -> list[Page]:
    """Every Markdown file that is part of the repository."""
    inside = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.md")))
    return [Page(path) for path in (*sorted(ROOT.glob("*.md")), *inside)]


def commands(page: Page) -> Iterator[str]:
    """What the page tells a reader to run: lines of shell code, and code within sentences that starts a program."""
    for body in page.fences("sh"):
        for line in re.sub(r"\\\n\s*", "", body).splitlines():
            yield from (part.strip() for part in re.split(r"&&|\|\||\||;", re.sub(r"(^|\s)#.*", "", line)))
    yield from (span for span in page.spans() if span.startswith(("python ", ".venv/bin/python ", "make ")))
