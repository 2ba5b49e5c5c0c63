"""The whole cluster engine once, on a CPU, with a stop and a resume."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("verl")
pytest.importorskip("transfer_queue")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_run_is_stopped_resumed_merged_and_loaded(tmp_path: Path) -> None:
    from tests.bench.verl_smoke import smoke

    found = smoke(tmp_path)
    assert found["stopped_at"] == 1, "it was stopped after its first checkpoint"
    assert [line["step"] for line in found["steps"]] == [1, 2], "and went on with the second step"
    assert [line["step"] for line in found["validation"]] == [1, 2]
    for line in found["steps"]:
        assert line["episodes"] == 8 and line["masked"] == 0
        assert line["calls"] > 0, "sessions were called"
        assert line["kl"] >= 0 and line["grad_norm"] >= 0
    assert found["moved"] > 0, "the merged weights are not those of the warm start"
    assert len(found["rewards"]) == 2
