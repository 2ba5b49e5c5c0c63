"""SIGKILL at random moments: outputs whole or absent, the bytes of an undisturbed run in the end, no scratch left.

The same for every stage, fifty times each: `python -m tests.bench.kills`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.kills.rounds import kill_stage

KILLS = 2


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("stage", ["discover", "skills", "train"])
def test_a_stage_killed_at_random_moments_ends_as_if_nothing_had_happened(pipeline: Path, stage: str) -> None:
    tally = kill_stage(stage, KILLS, seed=2)
    assert tally.kills == KILLS and tally.rounds >= 1
