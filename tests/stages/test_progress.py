"""Progress: plain lines away from a terminal, a bar on one; sizes and times for people."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from stages.progress import human_size, human_time, progress, show_results, visible


class Clock:
    """Seconds that pass when told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def plain() -> Console:
    return Console(file=StringIO(), width=160)


def lines(console: Console) -> list[str]:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_plain_lines_come_every_few_seconds_with_rate_time_left_and_failures() -> None:
    console, clock = plain(), Clock()
    with progress("Trying [pairs]", 100, console=console, clock=clock) as bar:
        for step in range(20):
            clock.now += 1.0
            bar.advance(2, failed=step % 10 == 0)
    assert lines(console)[0] == "Trying [pairs]: 10/100 (10%), 2/s, 45 s left, 1 failed"
    assert len(lines(console)) == 5  # after 5, 10, 15 and 20 seconds, and at the end
    assert lines(console)[-1].startswith("Trying [pairs]: 40/100 (40%)")
    assert lines(console)[-1].endswith("2 failed")


def test_the_last_line_comes_even_when_the_work_fails() -> None:
    console = plain()
    with pytest.raises(RuntimeError), progress("Work", 10, console=console) as bar:
        bar.advance(3)
        raise RuntimeError
    assert lines(console)[-1].startswith("Work: 3/10 (30%)")


def test_unknown_and_empty_totals() -> None:
    console, clock = plain(), Clock()
    with progress("Work", console=console, clock=clock) as bar:
        clock.now += 2
        bar.advance(4)
        bar.note("loss 0.5")
    with progress("Nothing", 0, console=console, clock=clock):
        pass
    assert lines(console) == ["Work: 4, 2/s, 2 s, 0 failed, loss 0.5", "Nothing: 0/0 (100%), 0 s, 0 failed"]


def test_a_terminal_gets_a_bar() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=120)
    with progress("Trying [pairs]", 4, console=console) as bar:
        bar.advance(4, failed=3)
    shown = "\n".join(lines(console))
    assert "Trying [pairs]" in shown
    assert "4/4" in shown
    assert "3 failed" in shown


def test_results_name_paths_in_full(tmp_path: Path) -> None:
    path = tmp_path / ("deep-" * 20) / "out.json"
    path.parent.mkdir()
    path.write_text("x" * 1500)
    console = plain()
    show_results([path], {"reward": 0.123456789}, console)
    text = "".join(line.strip() for line in lines(console))
    assert "1.5 kB" in text
    assert "0.123457" in text


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (25_400, "25 kB"), (272_000_000, "272 MB")]
)
def test_sizes(size: int, shown: str) -> None:
    assert human_size(size) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0 s"), (75, "1 min 15 s"), (3725, "1 h 02 min")])
def test_times(seconds: float, shown: str) -> None:
    assert human_time(seconds) == shown


@pytest.mark.parametrize("terminal", [False, True])
def test_no_text_steers_the_terminal_or_is_read_as_markup(terminal: bool) -> None:
    console = Console(file=StringIO(), force_terminal=terminal, width=160)
    with progress("Working", total=1, console=console, every=0.0) as bar:
        bar.note("[link=http://evil]x[/link] \x1b]0;owned\x07 {task} %s [/b]")
        bar.advance()
    assert isinstance(console.file, StringIO)
    told = console.file.getvalue()
    assert r"[link=http://evil]x[/link] \x1b]0;owned\x07 {task} %s [/b]" in told and "\x1b]" not in told


def test_control_characters_are_spelled_out_and_writing_stays_as_it_is() -> None:
    assert visible("\x00\x1b\x7f\x9b\r\u202e\u2066") == r"\x00\x1b\x7f\x9b\r\u202e\u2066"
    plain_text = "line\n\tÄ ü 中 \u200e \U0001f600 שלום"
    assert visible(plain_text) == plain_text
