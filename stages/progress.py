"""Progress bars and final tables: live bars on a terminal, a plain line every few seconds elsewhere.

Bars and messages go to standard error, tables to standard output.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Protocol

import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 160

# all control characters but tab and line feed, and those that turn the direction of writing
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Bar(Protocol):
    """What a stage sees of a progress bar; both methods may be called from any thread."""

    def advance(self, count: int = 1, *, failed: int = 0) -> None:
        """Count finished items, `failed` of them in vain."""

    def note(self, text: str) -> None:
        """Show a short remark beside the bar, such as the last loss."""


@contextmanager
def progress(
    title: str,
    total: int | None = None,
    *,
    console: Console | None = None,
    every: float = 5.0,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Bar]:
    """Show work in progress until the block ends.

    Args:
        title: what is being done.
        total: number of items, or None when nobody knows.
        console: where to draw; standard error if None.
        every: seconds between plain lines where there is no terminal.
        clock: seconds from any fixed moment.
    """
    console = console or error_console()
    if console.is_terminal:
        with Progress(*_columns(), console=console) as live:
            yield _LiveBar(live, title, total)
        return
    bar = _PlainBar(console, title, total, every, clock)
    try:
        yield bar
    finally:
        bar.report()


def visible(text: str) -> str:
    """The text with control characters spelled out, so that no terminal obeys what a model or a file says."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def error_console() -> Console:
    """A console on standard error, wide enough for plain lines where there is no terminal."""
    console = Console(stderr=True, highlight=False)
    return console if console.is_terminal else Console(stderr=True, highlight=False, width=PLAIN_WIDTH)


def show_results(
    outputs: Sequence[Path], metrics: Mapping[str, float] | None = None, console: Console | None = None
) -> None:
    """Print the stage's outputs with sizes and row counts, and its metrics."""
    console = console or Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PLAIN_WIDTH, file=console.file)
    table = Table("output", box=None, header_style="bold")
    table.add_column("size", justify="right")
    table.add_column("rows", justify="right")
    for output in outputs:
        for path in _listed(output):
            table.add_row(Text(visible(path.as_posix()), overflow="fold"), human_size(_size(path)), _rows(path))
    console.print(table)
    if metrics:
        values = Table("metric", box=None, header_style="bold")
        values.add_column("value", justify="right")
        for name, value in metrics.items():
            values.add_row(Text(visible(name)), f"{value:,.6g}")
        console.print(values)


def human_size(size: int) -> str:
    """Bytes in the largest unit that keeps at least one whole."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def human_time(seconds: float) -> str:
    """Seconds, or minutes and seconds, or hours and minutes."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class _LiveBar:
    def __init__(self, live: Progress, title: str, total: int | None) -> None:
        self._live = live
        self._lock = Lock()
        self._failed = 0
        self._task = live.add_task(title, total=total, failed=0, note="")

    def advance(self, count: int = 1, *, failed: int = 0) -> None:
        with self._lock:
            self._failed += failed
            self._live.update(self._task, advance=count, failed=self._failed)

    def note(self, text: str) -> None:
        self._live.update(self._task, note=visible(text))


class _PlainBar:
    def __init__(
        self, console: Console, title: str, total: int | None, every: float, clock: Callable[[], float]
    ) -> None:
        self._console, self._title, self._total, self._every, self._clock = console, title, total, every, clock
        self._lock = Lock()
        self._begin = self._last = clock()
        self._done = self._failed = 0
        self._note = ""

    def advance(self, count: int = 1, *, failed: int = 0) -> None:
        with self._lock:
            self._done += count
            self._failed += failed
            due = self._clock() - self._last >= self._every
        if due:
            self.report()

    def note(self, text: str) -> None:
        self._note = visible(text)

    def report(self) -> None:
        """Print one line about the state of things."""
        with self._lock:
            self._last = self._clock()
            self._console.print(self._line(self._last - self._begin), markup=False, soft_wrap=True)

    def _line(self, seconds: float) -> str:
        rate = self._done / seconds if seconds > 0 else 0.0
        if self._total is None:
            parts = [f"{self._title}: {self._done}"]
        else:
            share = self._done / self._total if self._total else 1.0
            parts = [f"{self._title}: {self._done}/{self._total} ({share:.0%})"]
        if rate:
            parts.append(f"{rate:,.3g}/s")
        if self._total is not None and rate and self._done < self._total:
            parts.append(f"{human_time((self._total - self._done) / rate)} left")
        else:
            parts.append(human_time(seconds))
        parts.append(f"{self._failed} failed")
        return ", ".join([*parts, *([self._note] if self._note else [])])


class _RateColumn(TextColumn):
    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.3g}/s", style="progress.data.speed")


def _columns() -> list[TextColumn | BarColumn | MofNCompleteColumn | SpinnerColumn | TimeRemainingColumn]:
    return [
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _RateColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[failed]} failed"),
        TextColumn("{task.fields[note]}", markup=False),
    ]


def _listed(output: Path) -> list[Path]:
    tables = sorted(output.rglob("*.parquet")) if output.is_dir() else []
    return [output, *tables]


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(item.stat().st_size for item in path.rglob("*") if item.is_file())
    return path.stat().st_size


def _rows(path: Path) -> str:
    return f"{pq.read_metadata(path).num_rows:,}" if path.suffix == ".parquet" and path.is_file() else ""
