"""Every link of every Markdown file leads somewhere."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.docs.reading import ROOT, Page, pages, slug_of


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Page) -> None:
    broken = [link for link in page.links() if not _leads(page, link)]
    assert broken == [], f"{page.name}: no such file or heading"


def _leads(page: Page, link: str) -> bool:
    if "://" in link:
        parts = urlsplit(link)
        return parts.scheme == "https" and "." in parts.netloc
    name, _, anchor = link.partition("#")
    path = (page.path.parent / name).resolve() if name else page.path
    if not path.is_relative_to(ROOT) or not path.exists():
        return False
    return not anchor or anchor in Page(path).anchors()


def test_every_page_of_the_documentation_is_in_its_index() -> None:
    index = Page(ROOT / "docs" / "README.md")
    linked = {(index.path.parent / link.partition("#")[0]).resolve() for link in index.links()}
    assert [
        page.name for page in pages() if page.name.startswith("docs/") and page.path not in {*linked, index.path}
    ] == []


def test_anchors_follow_githubs_rule() -> None:
    assert slug_of("Which part of the reward does what?") == "which-part-of-the-reward-does-what"
    assert slug_of("What it will cost: `--dry-run`") == "what-it-will-cost---dry-run"
    assert slug_of("[τ²-bench](tau2.md) & more") == "τ²-bench--more"


@pytest.mark.parametrize(
    "link", ["no-such.md", "concepts.md#no-such", "../../elsewhere.md", "http://example.org", "https://x"]
)
def test_a_link_that_leads_nowhere_is_found(link: str) -> None:
    assert not _leads(Page(ROOT / "docs" / "README.md"), link)
    assert _leads(Page(ROOT / "docs" / "README.md"), "concepts.md#the-reward")
