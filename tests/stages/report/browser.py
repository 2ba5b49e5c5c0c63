"""A browser without a network, for pages that are opened from disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")


@contextmanager
def browser() -> Iterator[Any]:
    """The system's Chromium; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visit:
    """A page from disk, with every request that it made and every fault that it met."""

    def __init__(self, opened: Any, path: Path, fragment: str = "", size: tuple[int, int] = (1366, 768)) -> None:
        self.page = opened.new_page(viewport={"width": size[0], "height": size[1]})
        self.requests: list[str] = []
        self.faults: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message) or dialog.dismiss())
        self.page.goto(path.resolve().as_uri() + fragment)

    def check(self) -> None:
        """Nothing but files was asked for, and nothing went wrong."""
        assert self.requests and all(url.startswith("file://") for url in self.requests)
        assert self.faults == []

    def tick(self, facet: str, value: str) -> None:
        """Tick the value of a filter."""
        self.page.locator(f'[data-facet="{facet}"][data-value="{value}"] input').click()

    def status(self, text: str) -> None:
        """Wait until the list says so."""
        self.page.wait_for_function("text => document.getElementById('status').textContent === text", arg=text)
