"""The log of a resumed run reads as if it had never been killed."""

from __future__ import annotations

from pathlib import Path

from stages.train.journal import Journal


def test_a_resumed_step_replaces_what_the_killed_run_wrote(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "log.jsonl")
    for step in (1, 2, 3):
        journal.replace_step(step, [{"v": step}, {"v": "line\u2028separator"}])
    with (tmp_path / "log.jsonl").open("a") as torn:
        torn.write('{"step": 4, "v"')
    resumed = Journal(tmp_path / "log.jsonl")
    resumed.add(2, {"v": "again"})
    resumed.add(3, {"v": "after"})
    assert [row["v"] for row in resumed.rows()] == [1, "line\u2028separator", "again", "after"]
