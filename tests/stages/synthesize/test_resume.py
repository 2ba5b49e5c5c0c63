"""The stage as a program: the same bytes in one go, again, and after being killed at any moment."""

from __future__ import annotations

import hashlib
import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from servers.kernel.dice import Dice
from stages import artifacts
from stages.discover.edges import CHAINS
from stages.params import SynthesizeParams
from stages.stage import execute
from stages.synthesize import __main__ as stage
from stages.synthesize.shards import SHARD_SIZE, Shards
from stages.tracking import Tracker
from tests.stages.synthesize.writing import SEED, chains, context

PARAMS = """\
seed: 7
bootstrap: {servers: [banking]}
synthesize: {conversations: 40}
"""
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with the stage's inputs, in which shards are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stage, "SHARD_SIZE", 5)
    Path("params.yaml").write_text(PARAMS, encoding="utf-8")
    ctx = context(SynthesizeParams())
    stamp = artifacts.Stamp(bank_fingerprint(), ctx.stamp.params)
    rows = [{"id": c.id, "server": c.server, "tools": c.tools, "labels": c.labels} for c in chains()]
    artifacts.write_table(artifacts.DATA / "graph" / "chains.parquet", CHAINS, rows, stamp)
    yield tmp_path


def bank_fingerprint() -> str:
    from servers.kernel.catalog import load_catalog

    return load_catalog(("banking",)).fingerprint


def run() -> int:
    return execute(
        "synthesize", SynthesizeParams, stage.main, Path("params.yaml"), Tracker("synthesize", enabled=False)
    )


def in_process(kill_when: Callable[[], bool] = lambda: False) -> int | None:
    """Run the stage in a process of its own, killed with SIGKILL at a certain moment."""
    process = FORK.Process(target=run)
    process.start()
    while process.is_alive() and not kill_when():
        time.sleep(0.01)
    process.kill()
    process.join()
    return process.exitcode


def digest() -> str:
    paths = (artifacts.DATA / "conversations" / "conversations.parquet", artifacts.REPORTS / "metrics/synthesize.json")
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def shards() -> int:
    return len(list((artifacts.DATA / ".unfinished").rglob("[0-9]*.json")))


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_in_the_same_bytes(project: Path) -> None:
    assert run() == 0
    whole = digest()
    (artifacts.DATA / "conversations" / "conversations.parquet").unlink()
    dice = Dice(SEED, "kills")
    kept = 0
    for goal in (1, 3, 6):
        pause = dice.unit() * 0.03

        def is_due(goal: int = goal, pause: float = pause) -> bool:
            if shards() < goal:
                return False
            time.sleep(pause)
            return True

        assert in_process(is_due) == -9
        assert shards() >= max(goal, kept)
        kept = shards()
        assert not (artifacts.DATA / "conversations" / "conversations.parquet").exists()
    untouched = {path: path.stat().st_mtime_ns for path in (artifacts.DATA / ".unfinished").rglob("[0-9]*.json")}
    assert untouched and run() == 0
    assert digest() == whole
    assert shards() == 0 and not list(artifacts.DATA.glob(".conversations*"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_any_number_of_processes_writes_the_same_bytes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "SHARD_SIZE", SHARD_SIZE)
    digests = []
    for processes in (1, 2):
        more = PARAMS.replace("conversations: 40", f"conversations: {SHARD_SIZE + 10}, processes: {processes}")
        Path("params.yaml").write_text(more, encoding="utf-8")
        assert run() == 0
        digests.append(digest())
    assert digests[0] == digests[1]


def test_processes_are_for_the_scripted_teacher(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hosted = PARAMS.replace("conversations: 40", "conversations: 40, processes: 2")
    Path("params.yaml").write_text(f"{hosted}teacher: {{model: openai/x}}\n", encoding="utf-8")
    assert run() == 2
    assert "synthesize.processes" in capsys.readouterr().err


def test_a_missing_input_and_one_of_other_servers_are_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = artifacts.DATA / "graph" / "chains.parquet"
    stamp = artifacts.Stamp("0123456789abcdef", "")
    artifacts.write_table(source, CHAINS, [], stamp)
    assert run() == 1 and "0123456789abcdef" in capsys.readouterr().err
    source.unlink()
    assert run() == 1 and "is missing" in capsys.readouterr().err


def test_a_shard_is_found_only_by_the_run_that_wrote_it(tmp_path: Path) -> None:
    stamp = artifacts.Stamp("a", "b")
    Shards(tmp_path, stamp, "key").write(3, [{"id": "x", "é": 1.5}])
    assert Shards(tmp_path, stamp, "key").read(3) == [{"id": "x", "é": 1.5}]
    assert Shards(tmp_path, stamp, "key").read(2) is None
    for other, key in ((artifacts.Stamp("a", "c"), "key"), (artifacts.Stamp("c", "b"), "key"), (stamp, "other")):
        assert Shards(tmp_path, other, key).read(3) is None
    Shards(tmp_path, stamp, "key").remove()
    assert Shards(tmp_path, stamp, "key").read(3) is None
