"""The explorers in a browser: from disk, without a network, and deaf to what the data would like to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stages.report.inputs import Inputs
from stages.report.page import fill
from stages.report.viewer.shards import Entry, Facet, Measure, ShardWriter, as_script
from tests.stages.report.browser import Visit, browser
from tests.stages.report.conftest import HOSTILE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]  # a browser starts slowly on a busy machine


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with browser() as found:
        yield found


def test_trajectories_are_filtered_searched_and_opened(opened: Any, drawn: Inputs) -> None:
    visit = Visit(opened, drawn.reports / "trajectories.html")
    page = visit.page
    visit.status("10 of 10")
    visit.tick("set", "training")
    visit.status("6 of 10")
    assert page.locator('[data-facet="outcome"][data-value="solved"] .count').inner_text() == "4"
    visit.tick("outcome", "not solved")
    visit.status("2 of 10")
    page.fill("[name=step-least]", "2")
    visit.status("1 of 10")
    page.locator(".row").click()
    page.wait_for_selector(".parts")
    text = page.locator("#detail").inner_text()
    assert "level 1 of 3: lacks card_id" in text and "budget 2 + ⌈2 · 0.5⌉ = 3, made 3" in text
    assert "nobody gave this value" in text
    page.click("#clear")
    visit.status("10 of 10")
    page.fill("#search", "unfreeze_card")
    visit.status("0 of 10")
    page.fill("#search", "conv-000002 list_cards")
    visit.status("1 of 10")
    visit.check()


def test_an_episode_shows_parts_diffs_and_origins(opened: Any, drawn: Inputs) -> None:
    visit = Visit(opened, drawn.reports / "trajectories.html", "#conv-000002%2F0%20%C2%B7%20base")
    page = visit.page
    page.wait_for_selector(".parts")
    assert page.locator(".parts tbody tr").count() == 6
    assert "1.300" in page.locator(".parts").inner_text()
    assert (
        "status" in page.locator(".change").inner_text() and "active → frozen" in page.locator(".change").inner_text()
    )
    assert "row for row the expected one" in page.locator("#detail").inner_text()
    page.get_by_role("button", name="shown by call 1, list_cards").click()
    assert "list_cards" in page.locator(".event.found").inner_text()
    page.get_by_role("link", name="its conversation").click()
    page.wait_for_url("**/dataset.html#conv-000002")
    page.wait_for_selector("h2:has-text('conv-000002')")
    visit.check()


def test_hostile_text_stays_text(opened: Any, drawn: Inputs) -> None:
    for name, fragment in (
        ("trajectories.html", "#conv-000002%2F0%20%C2%B7%20policy"),
        ("dataset.html", "#conv-000001"),
    ):
        visit = Visit(opened, drawn.reports / name, fragment)
        visit.page.wait_for_selector(".event")
        assert HOSTILE in visit.page.locator("#detail").inner_text()
        assert visit.page.locator("img").count() == 0
        visit.check()
    visit = Visit(opened, drawn.reports / "graph.html", "#freeze_card")
    assert HOSTILE in visit.page.locator("#side").inner_text()
    assert visit.page.locator("img").count() == 0
    visit.check()


def test_conversations_are_filtered_by_fate_and_by_step(opened: Any, drawn: Inputs) -> None:
    visit = Visit(opened, drawn.reports / "dataset.html")
    page = visit.page
    visit.status("3 of 3")
    assert "query_written 3" in page.locator("#overview").inner_text().replace("\n", " ")
    visit.tick("reason", "near_duplicate")
    visit.status("1 of 3")
    page.locator(".row").click()
    page.wait_for_selector(".verdict")
    assert page.locator(".verdict").inner_text().startswith("Rejected: near_duplicate")
    visit.check()


def test_the_graph_is_searched_filtered_zoomed_and_told(opened: Any, drawn: Inputs) -> None:
    visit = Visit(opened, drawn.reports / "graph.html")
    page = visit.page
    assert page.locator("#count").inner_text() == "1 edges"
    page.click("[data-kind=none]")
    assert page.locator("#count").inner_text() == "2 edges"
    page.fill("#search", "freeze card")
    page.get_by_role("button", name="freeze_card", exact=True).click()
    side = page.locator("#side").inner_text()
    assert "card_id" in side and "Needs (1)" in side and "Is needed by (1)" in side and "else not_found" in side
    before = page.locator("#canvas > g").get_attribute("transform")
    page.mouse.move(400, 400)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "before => document.querySelector('#canvas > g').getAttribute('transform') !== before", arg=before
    )
    page.select_option("#server", "budget")
    assert page.locator("#count").inner_text() == "0 edges"
    visit.check()


def test_a_missing_folder_is_told(opened: Any, drawn: Inputs, tmp_path: Path) -> None:
    alone = tmp_path / "trajectories.html"
    alone.write_bytes((drawn.reports / "trajectories.html").read_bytes())
    visit = Visit(opened, alone)
    visit.page.wait_for_selector(".problem")
    told = visit.page.locator(".problem").inner_text()
    assert told.startswith("viewer/trajectories/") and "is missing. Keep that folder beside this page" in told


def test_filters_orders_and_searches_see_every_page_of_a_long_index(opened: Any, tmp_path: Path) -> None:
    """12,000 records are two pages of the index, with more rewards than a byte has values."""
    facets = (Facet("outcome", "outcome"), Facet("codes", "error code", many=True))
    writer = ShardWriter(tmp_path / "viewer", facets, (Measure("reward", "reward"), Measure("calls", "calls")))
    codes = [["none"], ["not_found"], ["not_found", "conflict"]]
    for number in range(12_000):
        found = {"outcome": "solved" if number % 5 == 0 else "not solved", "codes": codes[number % 3]}
        reward = None if number == 11_999 else number / 100
        writer.add(Entry(f"n{number}", found, {"reward": reward, "calls": 1}, f"Ask {number}\nlist_cards", {}))
    header = as_script({"root": "viewer", **writer.close()})
    place = tmp_path / "page.html"
    place.write_text(fill("viewer.html", title="t", subtitle="", links=(), header=header, notes=(), arcs=(), boxes=()))
    visit = Visit(opened, place)
    page = visit.page
    visit.status("12,000 of 12,000")
    page.wait_for_function("index.known === 12000")

    def count(facet: str, value: str) -> str:
        return str(page.locator(f'[data-facet="{facet}"][data-value="{value}"] .count').inner_text())

    assert (count("codes", "none"), count("codes", "not_found"), count("codes", "conflict")) == (
        "4,000", "8,000", "4,000",
    )  # fmt: skip
    visit.tick("outcome", "solved")
    visit.status("2,400 of 12,000")
    assert (count("codes", "conflict"), count("outcome", "not solved")) == ("800", "9,600")
    visit.tick("codes", "conflict")
    visit.status("800 of 12,000")
    page.click("#clear")
    page.select_option("#order", "reward down")
    page.wait_for_function("document.querySelector('.row .mark').textContent === '119.98'")
    page.evaluate("() => { const r = document.getElementById('rows'); r.scrollTop = r.scrollHeight; }")
    page.wait_for_function("[...document.querySelectorAll('.row .mark')].at(-1).textContent === '–'")
    page.fill("[name=reward-least]", "119")
    visit.status("99 of 12,000")
    page.fill("[name=reward-least]", "")
    page.fill("#search", "11998 cards")
    visit.status("1 of 12,000")
    visit.check()


def test_a_long_episode_keeps_the_document_small(opened: Any, tmp_path: Path) -> None:
    """7,000 events: those in sight are drawn, the rest takes up room only, and the last can be reached."""
    events = [
        {"t": "call", "n": n, "ok": True, "code": "", "name": "list_cards", "arguments": [["n", str(n), "choice", -1]],
         "result": f"{{\"n\":{n}}}"}
        for n in range(1, 7001)
    ]  # fmt: skip
    told = {"facts": [], "verdict": [], "compared": [], "tools": [], "events": events}
    writer = ShardWriter(tmp_path / "viewer", (Facet("kind", "kind"),), (Measure("calls", "calls"),))
    writer.add(Entry("long", {"kind": "multi_turn"}, {"calls": 7000}, "long", told))
    header = as_script({"root": "viewer", **writer.close()})
    page = tmp_path / "page.html"
    page.write_text(fill("viewer.html", title="t", subtitle="", links=(), header=header, notes=(), arcs=(), boxes=()))
    visit = Visit(opened, page, "#long")
    visit.page.wait_for_selector(".event")
    for share in (n / 15 for n in range(16)):
        visit.page.evaluate(
            "share => { const d = document.getElementById('detail'); d.scrollTop = share * d.scrollHeight; }", share
        )
        visit.page.wait_for_function(
            """() => { const box = document.getElementById('detail').getBoundingClientRect();
            return [...document.querySelectorAll('.event')].some((e) => {
              const r = e.getBoundingClientRect(); return r.top < box.bottom && r.bottom > box.top; }); }"""
        )
        assert visit.page.locator(".event").count() < 500
    visit.page.evaluate("() => { const d = document.getElementById('detail'); d.scrollTop = d.scrollHeight; }")
    visit.page.wait_for_selector("text=call 7000")
    visit.check()
