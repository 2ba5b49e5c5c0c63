"""A small pipeline whose stages have all run, and copies of it to be broken."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.kills.rounds import undisturbed
from tests.bench.kills.workspace import STAGES, begin


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole pipeline, run once for all workers of a test run."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "crashes"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "made").exists():
            scratch = shared / "making"
            scratch.mkdir()
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(scratch)
                begin()
                for stage in STAGES:
                    undisturbed(stage)
            scratch.rename(shared / "made")
    return shared / "made"


@pytest.fixture
def pipeline(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy in which every stage has run; the test runs in it."""
    place = tmp_path / "pipeline"
    shutil.copytree(made, place)
    monkeypatch.chdir(place)
    yield place
