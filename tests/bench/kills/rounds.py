"""Rounds of kills: a stage is started and killed again and again until it is let through, then looked at.

After each kill every output is whole or absent; after the last start of a round all of them are those of a run that
nobody disturbed, and nothing that was in the making is left.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from servers.kernel.dice import Dice
from tests.bench.kills.outcome import UNFINISHED, Content, content, differences, scratch
from tests.bench.kills.workspace import OUTPUTS, WORDS, run

LET_THROUGH = 0.2
"""Share of the starts after a kill that are not killed."""


@dataclass(slots=True)
class Tally:
    """What was done with one stage so far; `moments` says where the kills fell."""

    stage: str
    whole: float = 0.0
    seconds: float = 0.0
    kills: int = 0
    rounds: int = 0
    moments: Counter[str] = field(default_factory=Counter)

    def told(self) -> str:
        """One line of figures."""
        where = ", ".join(f"{count} {moment}" for moment, count in sorted(self.moments.items()))
        return (
            f"{self.stage:10s} {self.whole:5.1f} s undisturbed, {self.kills} kills in {self.rounds} rounds, "
            f"{self.seconds:4.0f} s: {where}"
        )


def kill_stage(stage: str, kills: int, seed: int) -> Tally:
    """Kill a stage so many times; its inputs are in the present directory.

    Raises:
        AssertionError: something was left behind that should not have been.
    """
    tally, dice, begin = Tally(stage), Dice(seed, f"kills/{stage}"), time.monotonic()
    expected = undisturbed(stage)
    tally.whole = time.monotonic() - begin
    while tally.kills < kills:
        if tally.rounds % 2:
            remove(OUTPUTS[stage])
        _round(stage, dice, expected, tally, kills)
    tally.seconds = time.monotonic() - begin
    return tally


def undisturbed(stage: str) -> dict[Path, Content | None]:
    """Run a stage to its end; its outputs."""
    code = run(stage)
    assert code == 0, f"{stage} ended with exit code {code}: {said()}"
    assert not scratch(), f"{stage} left {scratch()}"
    return {path: content(path) for path in OUTPUTS[stage]}


def remove(paths: Sequence[Path]) -> None:
    """Remove files and directories."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def said() -> str:
    """The words of the last run."""
    return WORDS.read_text(encoding="utf-8", errors="replace")


def _round(stage: str, dice: Dice, expected: dict[Path, Content | None], tally: Tally, most: int) -> None:
    before = _places(stage)
    while True:
        let_through = tally.kills >= most or (tally.kills > 0 and dice.chance(LET_THROUGH))
        code = run(stage, None if let_through else dice.unit() * tally.whole)
        if code == 0:
            break
        assert code == -9, f"{stage} ended with exit code {code}: {said()}"
        tally.kills += 1
        for path, whole in expected.items():
            found = content(path)
            assert found is None or found == whole, f"{path} is not whole: {differences(found, whole)}"
        tally.moments[_moment(before != _places(stage))] += 1
    for path, whole in expected.items():
        assert content(path) == whole, f"{path} differs from an undisturbed run in {differences(content(path), whole)}"
    assert not scratch(), f"{stage} left {scratch()}"
    tally.rounds += 1


def _moment(written: bool) -> str:
    if written:
        return "after the first output"
    return "with work kept" if any(UNFINISHED.rglob("*")) else "with nothing kept"


def _places(stage: str) -> list[int]:
    """Which files the outputs are; 0 for one that is absent, or moved aside just now."""
    return [path.stat().st_ino if path.exists() else 0 for path in OUTPUTS[stage]]
