"""The site builds without a fault, its links hold, and it opens from disk without any network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.reading import ROOT
from tests.stages.report.browser import Visit, browser

pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

_LOADED = re.compile(r'<(?:script|img|iframe|source)\b[^>]*?\bsrc="([^"]+)"|<link\b[^>]*?\bhref="([^"]+)"')
_HREF = re.compile(r'<a\b[^>]*?\bhref="([^"]+)"')
_ID = re.compile(r'\bid="([^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a build that asked the network for anything would fail."""
    target = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **nowhere}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return target


def test_every_package_has_a_page_of_the_reference(site: Path) -> None:
    packages = [
        path.parent for room in ("servers/kernel", "stages", "flows") for path in (ROOT / room).rglob("__init__.py")
    ]
    expected = {".".join(package.relative_to(ROOT).parts) for package in packages}
    assert expected <= {page.stem for page in (site / "reference").glob("*.html")}
    reward = (site / "reference" / "stages.reward.html").read_text(encoding="utf-8")
    assert "name_share" in reward and "0 without calls" in reward
    assert not (ROOT / "docs" / "reference").exists()


def test_links_hold(site: Path) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    ids = {path: set(_ID.findall(text)) for path, text in texts.items()}
    broken = []
    for path, text in texts.items():
        if path.name == "404.html":
            continue
        for link in {unquote(unescape(found)) for found in _HREF.findall(text)}:
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if re.match(r"[a-z]+:", link):
                continue
            if not target.exists() or (
                anchor and target in ids and anchor not in {*ids[target], "__toc", "__comments"}
            ):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_pages_load_nothing_from_a_network(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = ["".join(found) for found in _LOADED.findall(path.read_text(encoding="utf-8"))]
        assert [url for url in loaded if re.match(r"(https?:)?//", url)] == [], path.name


def test_the_site_can_be_read_and_searched_from_disk(site: Path) -> None:
    with browser() as opened:
        for size in ((1366, 900), (390, 844)):
            visit = Visit(opened, site / "state-machine.html", size=size)
            assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert visit.page.locator(".machine rect").count() == 7
            visit.check()
        visit = Visit(opened, site / "index.html", size=(1366, 900))
        visit.page.type(".md-search__input", "rejection sampling")
        found = visit.page.locator('.md-search-result__link[href*="howto/add-a-signal.html"]').first
        found.wait_for(timeout=60_000)
        found.click()
        visit.page.wait_for_url("**/howto/add-a-signal.html**")
        visit.check()
