"""How fast the trajectory viewer is with many episodes, and with a long one, in a headless Chromium.

    python tests/bench/viewer.py [--entries 200000] [--events 7000]

Writes made-up episodes to a scratch directory as the report does, opens the page from disk, and prints how long it
takes until the first rows stand whole with the counts of every filter, until the whole index is read, until a search
right after that has answered, until a filter, an order and further searches have, and until an episode is open; then
the frames of a scroll through the long one. Times are medians of three visits but for those of writing and scrolling.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from stages.report.page import fill
from stages.report.viewer.episodes import FACETS, MEASURES
from stages.report.viewer.shards import Entry, ShardWriter, as_script

SERVERS = [f"server_{n}" for n in range(20)]
OPEN = """() => {
  const first = document.querySelector('.row'), counts = [...document.querySelectorAll('.count')];
  return first && first.querySelector('.mark')?.textContent && first.querySelector('.top span').textContent
    && counts.length && counts.every((count) => count.textContent);
}"""
SCROLL = """async () => {
  const box = document.getElementById('detail'), gaps = [], step = box.clientHeight / 3;
  let last = performance.now(), most = 0;
  for (let n = 0; n < 300; n++) {
    box.scrollTop += step;
    await new Promise(requestAnimationFrame);
    const now = performance.now(); gaps.push(now - last); last = now;
    most = Math.max(most, document.getElementsByTagName('*').length);
  }
  gaps.sort((a, b) => a - b);
  return { median: gaps[150], p99: gaps[297], worst: gaps[299], elements: most };
}"""


def entry(number: int, events: int = 3) -> Entry:
    """A made-up episode with so many calls."""
    calls = [
        {"t": "call", "n": n, "ok": True, "code": "", "name": f"get_thing_{n % 40}", "level": 3, "why": "level 3 of 3",
         "arguments": [["thing_id", f'"TNG-{number}-{n}"', "user", 0]], "result": '{"id":"TNG","title":"A thing"}' * 3}
        for n in range(1, events + 1)
    ]  # fmt: skip
    reward = number % 131 / 100
    return Entry(
        name=f"conv-{number:06d}/0 · step {number // 256 + 1}, sample {number % 256}",
        facets={
            "set": "training",
            "policy": "train",
            "server": SERVERS[number % 20],
            "outcome": "solved" if reward > 1 else "not solved",
            "kind": "multi_turn",
            "stop": "answered",
            "codes": ["not_found"] if number % 7 == 0 else ["no error"],
            "levels": "3 of 3",
        },
        measures={"reward": reward, "step": number // 256 + 1, "calls": events},
        text=f"Please find thing {number} and move it to the shelf of things that nobody needs any more.\nget_thing_1",
        body={"facts": [["row", f"conv-{number:06d}/0"]], "verdict": [], "parts": [], "total": reward, "compared": [],
              "tools": [], "events": [{"t": "say", "role": "user", "text": "Find it."}, *calls]},
    )  # fmt: skip


def main() -> None:
    """Write, open, filter, search, open an episode, scroll."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=200_000)
    parser.add_argument("--events", type=int, default=7_000)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        page = write(Path(scratch), arguments.entries, arguments.events)
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        visits = [visit(browser, page, arguments.entries) for _ in range(3)]
        for name in visits[0]:
            print(f"{name}: {statistics.median(one[name] for one in visits):,.0f}")
        scroll(browser, page, arguments.events)
        browser.close()


def write(root: Path, entries: int, events: int) -> Path:
    """The page with its data; the first episode is the long one."""
    begin = time.perf_counter()
    writer = ShardWriter(root / "viewer", FACETS, MEASURES)
    for number in range(entries):
        writer.add(entry(number, events if number == 0 else 3))
    header = as_script({"root": "viewer", **writer.close()})
    page = root / "trajectories.html"
    page.write_text(fill("viewer.html", title="T", subtitle="", links=(), header=header, notes=(), arcs=(), boxes=()))
    seconds = time.perf_counter() - begin
    files = list((root / "viewer").iterdir())
    index = sum(path.stat().st_size for path in files if path.name.startswith("index"))
    whole = sum(path.stat().st_size for path in files)
    print(f"{entries:,} entries written in {seconds:.0f} s: {len(files)} files, {whole / 1e6:,.0f} MB")
    print(f"index {index / 1e6:.1f} MB, page {page.stat().st_size / 1e3:.0f} kB")
    return page


def visit(browser: Any, page: Path, entries: int) -> dict[str, float]:
    """One visit in a fresh context; milliseconds of each thing."""
    tab = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    tab.set_default_timeout(120_000)
    times = {}
    whole = f"{entries:,} of {entries:,}"

    def until(name: str, condition: str, begin: float) -> None:
        tab.wait_for_function(condition)
        times[f"{name}, ms"] = (time.perf_counter() - begin) * 1000

    begin = time.perf_counter()
    tab.goto(page.as_uri(), wait_until="commit")
    until("open", OPEN, begin)
    until("whole index", "index.known === HEADER.count", begin)
    begin = time.perf_counter()
    tab.fill("#search", f"{entries - 1}")
    until("search right after opening", "document.getElementById('status').textContent.startsWith('1 of')", begin)
    tab.fill("#search", "")
    until("_", f"document.getElementById('status').textContent === '{whole}'", begin)
    begin = time.perf_counter()
    tab.locator('[data-facet="server"][data-value="server_7"] input').click()
    until("filter", f"document.getElementById('status').textContent !== '{whole}'", begin)
    tab.click("#clear")
    until("_", f"document.getElementById('status').textContent === '{whole}'", begin)
    begin = time.perf_counter()
    tab.select_option("#order", "reward up")
    until("order", "document.querySelector('.row .mark').textContent === '0.00'", begin)
    begin = time.perf_counter()
    tab.fill("#search", f"thing {entries - 2}")
    until("search", "document.getElementById('status').textContent.startsWith('1 of')", begin)
    tab.wait_for_function(f"document.querySelector('.row .top span').textContent.includes('{entries - 2}')")
    begin = time.perf_counter()
    tab.locator(".row").first.click()
    until("episode open", "document.querySelectorAll('.event').length > 0", begin)
    times["elements in the document"] = tab.evaluate("document.getElementsByTagName('*').length")
    tab.context.close()
    return {name: time for name, time in times.items() if not name.startswith("_")}


def scroll(browser: Any, page: Path, events: int) -> None:
    """Open the long episode and scroll through it."""
    tab = browser.new_page(viewport={"width": 1366, "height": 768})
    tab.set_default_timeout(120_000)
    tab.goto(page.as_uri())
    tab.wait_for_selector(".row")
    begin = time.perf_counter()
    tab.locator(".row").first.click()
    tab.wait_for_selector(".event")
    print(f"{events:,} events open in {(time.perf_counter() - begin) * 1000:,.0f} ms")
    frames = tab.evaluate(SCROLL)
    print(
        f"frame while scrolling: median {frames['median']:.0f} ms, 99 % {frames['p99']:.0f} ms, "
        f"worst {frames['worst']:.0f} ms; at most {frames['elements']:,.0f} elements"
    )


if __name__ == "__main__":
    main()
