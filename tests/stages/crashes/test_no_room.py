"""A file system that is full or read-only: the stage says what, where and what to do, and later ends as usual."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.kills.outcome import content, scratch
from tests.bench.kills.rounds import remove
from tests.bench.kills.workspace import OUTPUTS, run

ROOM_KB = {"discover": 12, "skills": 8, "train": 60, "evaluate": 8}
"""Kilobytes left on the file system: enough to begin, too few to end."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def mount(place: Path, options: str) -> bool:
    """Mount a file system in memory; whether that is allowed here."""
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    return bool(shutil.which("mount")) and not subprocess.run(command, capture_output=True, check=False).returncode


@contextmanager
def mounted(place: Path, options: str) -> Iterator[None]:
    """A file system in memory for the length of the block; skips the test where mounting isn't allowed."""
    if not mount(place, options):
        pytest.skip("mounting a tmpfs needs root: not tested here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def refused(words: Path, why: str) -> str:
    """The error line of a stage that could not write."""
    said = words.read_text(encoding="utf-8")
    assert "Traceback" not in said, said
    line = said.strip().splitlines()[-1]
    assert why in line and "run the stage again" in line, said
    return line


@pytest.mark.parametrize("stage", list(ROOM_KB))
def test_a_full_file_system_is_told_and_nothing_wrong_is_left(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    place, words = tmp_path / "small", tmp_path / "words"
    size = sum(path.stat().st_size + 4096 for path in made.rglob("*") if path.is_file()) // 1024 + 4096
    with mounted(place, f"size={size}k"):
        shutil.copytree(made, place, dirs_exist_ok=True)
        monkeypatch.chdir(place)
        expected = {path: content(path) for path in OUTPUTS[stage]}
        remove(OUTPUTS[stage])
        ballast = place / "ballast"
        fill(ballast, ROOM_KB[stage])
        assert run(stage, words=words) == 1, words.read_text(encoding="utf-8")
        refused(words, "No space left on device")
        whole_or_absent(expected)
        ballast.unlink()
        assert run(stage, words=words) == 0, words.read_text(encoding="utf-8")
        assert {path: content(path) for path in OUTPUTS[stage]} == expected
        assert not scratch()
        monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("stage", ["skills"])
def test_files_that_may_not_grow_are_told(pipeline: Path, stage: str) -> None:
    expected = {path: content(path) for path in OUTPUTS[stage]}
    remove(OUTPUTS[stage])
    words = pipeline.parent / "words"
    assert run(stage, before=file_size_limit(700), words=words) == 1
    refused(words, "File too large")
    whole_or_absent(expected)
    assert run(stage) == 0
    assert {path: content(path) for path in OUTPUTS[stage]} == expected and not scratch()


@pytest.mark.parametrize("stage", ["skills", "train"])
def test_a_read_only_file_system_is_told(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    place, words = tmp_path / "fixed", tmp_path / "words"
    with mounted(place, "size=64m"):
        shutil.copytree(made, place, dirs_exist_ok=True)
        monkeypatch.chdir(place)
        expected = {path: content(path) for path in OUTPUTS[stage]}
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        assert run(stage, words=words) == 1
        refused(words, "Read-only file system")
        assert {path: content(path) for path in OUTPUTS[stage]} == expected
        monkeypatch.chdir(tmp_path)


def test_a_file_where_a_directory_belongs_is_told(pipeline: Path) -> None:
    shutil.rmtree("reports")
    Path("reports").write_text("in the way", encoding="utf-8")
    assert run("discover") == 1
    assert "reports" in refused(Path("said.txt"), "directory")


def fill(ballast: Path, room_kb: int) -> None:
    """Write a file until so many kilobytes are left."""
    free = shutil.disk_usage(ballast.parent).free - room_kb * 1024
    ballast.write_bytes(bytes(max(0, free)))


def whole_or_absent(expected: dict[Path, dict[str, bytes] | None]) -> None:
    """Check that no output is anything else."""
    for path, whole in expected.items():
        assert content(path) in (None, whole), f"{path} is not whole"


def file_size_limit(size: int) -> Callable[[], None]:
    """Lets no file of the new process grow beyond so many bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
