"""What MkDocs cannot do by itself: pages from files outside `docs/`, the reference, and a drawing in a diagram's stead.

Links between Markdown files are written so that they work in the repository. Here they are turned into links between
pages; a link to a file that is no page keeps its text alone. Nothing that is made here is written to the tree.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from stages.report.pages.traffic import HEIGHT, WIDTH, arcs, boxes  # noqa: E402  # the repository is no package

PUBLISHED: Mapping[str, str] = {"servers/README.md": "servers.md", "CHANGELOG.md": "changelog.md"}
"""Files outside `docs/` that become pages, each with its place in the site."""

ROOMS = ("servers/kernel", "servers/gateway", "stages", "flows")
"""Where the reference looks for packages."""

_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
_DIAGRAM = re.compile(r"```mermaid\n.*?\n```", re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the reference's pages in the navigation."""
    pages = [{title: uri} for title, uri, _ in _reference()]
    config.nav = [
        {"Reference": pages} if isinstance(item, dict) and "Reference" in item else item for item in config.nav or []
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no files of `docs/`."""
    made = {uri: (ROOT / source).read_text(encoding="utf-8") for source, uri in PUBLISHED.items()}
    made |= {uri: text for _, uri, text in _reference()}
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files into links between pages, and the state machine's diagram into a drawing."""
    uri = page.file.src_uri
    sources = {target: source for source, target in PUBLISHED.items()}
    text = linked(markdown, sources.get(uri, f"docs/{uri}"), uri, dict(_titles(config.nav)))
    return _DIAGRAM.sub(lambda _: drawing(), text)


def linked(markdown: str, source: str, uri: str, titles: Mapping[str, str]) -> str:
    """The text with links that work on the page `uri`; `source` is its file in the repository.

    A link that shows the name of a file shows the page's title instead.
    """

    def moved(match: re.Match[str]) -> str:
        text, target = match.groups()
        path, sign, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return match.group()
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        place = PUBLISHED.get(whole) or (whole.removeprefix("docs/") if whole.startswith("docs/") else "")
        text = titles.get(place, text) if text.endswith(".md") else text
        return f"[{text}]({posixpath.relpath(place, posixpath.dirname(uri))}{sign}{anchor})" if place else text

    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_LINK.sub(moved, markdown[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*parts, _LINK.sub(moved, markdown[end:])])


def _titles(nav: Any) -> Iterator[tuple[str, str]]:
    """Place and title of each page of the navigation."""
    for item in nav:
        if isinstance(item, dict):
            for title, inside in item.items():
                yield from [(inside, title)] if isinstance(inside, str) else _titles(inside)


def drawing() -> str:
    """The state machine, drawn from the table that runs it."""
    drawn = [
        '<div class="machine"><svg viewBox="0 0 960 330" role="img" aria-label="The state machine of a conversation">'
    ]
    drawn.append('<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">')
    drawn.append('<path d="M0 0L8 4L0 8z"/></marker>')
    for arc in arcs({}):
        drawn.append(f'<path class="arc" d="{arc.path}" marker-end="url(#tip)"/>')
        drawn += [f'<text x="{arc.x}" y="{step.y}">{escape(step.text.rpartition(" ")[0])}</text>' for step in arc.steps]
    for box in boxes():
        drawn.append(f'<rect x="{box.x}" y="{box.y}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>')
        drawn.append(f'<text x="{box.x + WIDTH / 2}" y="{box.y + HEIGHT / 2 + 4}">{escape(box.name)}</text>')
    return "".join([*drawn, "</svg></div>"])


def _reference() -> Iterator[tuple[str, str, str]]:
    """Title, place and text of the page of each package."""
    for room in ROOMS:
        for init in sorted((ROOT / room).rglob("__init__.py")):
            package = init.parent.relative_to(ROOT)
            name = ".".join(package.parts)
            modules = sorted(path.stem for path in init.parent.glob("[a-z]*.py"))
            yield name, f"reference/{name}.md", _page(name, [f"{name}.{module}" for module in modules])


def _page(package: str, modules: list[str]) -> str:
    options: dict[str, Any] = {"show_root_heading": "false", "show_root_toc_entry": "false"}
    head = "\n".join(f"      {key}: {value}" for key, value in options.items())
    bodies = (f"::: {module}" for module in modules)
    behind = "---\nsearch:\n  boost: 0.0005\n---"  # pages that a person wrote are found first
    return "\n\n".join([behind, f"# {package}", f"::: {package}\n    options:\n{head}", *bodies, ""])
