"""The files of unfinished work by themselves: lines that a kill cut off, damage, and what a resume makes of both."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stages.artifacts import ArtifactError, Stamp
from stages.evaluate.journal import Journal as Episodes
from stages.stage import trouble_with_files
from stages.synthesize.shards import Shards
from stages.train.digests import DIGESTS, fault, seal
from stages.train.journal import Journal

ROWS = [{"id": "a", "text": "é"}, {"id": "b", "text": "x"}]


def words_of(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("write", ["add", "append"])
def test_a_line_goes_after_one_that_was_cut_off_not_into_it(tmp_path: Path, write: str) -> None:
    path = tmp_path / "log.jsonl"
    Journal(path).add(1, {"v": "first"})
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"step":2,"v":"sec')
    getattr(Journal(path), write)(2, {"v": "second"})
    assert Journal(path).steps() == {1: [{"v": "first"}], 2: [{"v": "second"}]}


def test_dropping_lines_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    for step in (1, 2, 3):
        Journal(path).add(step, {"v": step})
    whole = path.read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            Journal(path).add(2, {"v": "again"})
    assert path.read_bytes() == whole


@pytest.mark.parametrize("spoilt", [b"nonsense\n", b"[1]\n", b'{"v": 1}\n', b"\xff\n", b'{"step": "1"}\n'])
def test_a_damaged_line_of_training_is_refused_with_the_cure(tmp_path: Path, spoilt: bytes) -> None:
    path = tmp_path / "log.jsonl"
    Journal(path).add(1, {"v": 1})
    path.write_bytes(spoilt + path.read_bytes())
    with pytest.raises(ArtifactError, match=rf"{path} is damaged .*: remove {tmp_path} and run"):
        Journal(path).add(2, {"v": 2})


def test_a_step_with_a_checkpoint_has_to_have_a_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "log.jsonl")
    journal.require(range(1, 1))
    journal.add(1, {"v": 1})
    journal.require(range(1, 2))
    with pytest.raises(ArtifactError, match="step 2 has a checkpoint and no line"):
        journal.require(range(1, 3))


@pytest.mark.parametrize(
    "damage", [lambda whole: whole[:70], lambda whole: b"", lambda whole: whole.replace(b'"x"', b'"y"'), bytes.upper]
)
def test_a_damaged_shard_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[bytes], bytes]
) -> None:
    shards = Shards(tmp_path, Stamp("f", "p"), "key")
    shards.write(0, ROWS)
    assert shards.read(0) == ROWS and words_of(capsys) == ""
    path = next(tmp_path.rglob("*.json"))
    path.write_bytes(damage(path.read_bytes()))
    assert shards.read(0) is None and f"{path} is damaged" in words_of(capsys)
    shards.write(0, ROWS)
    assert shards.read(0) == ROWS


@pytest.mark.parametrize(
    "damage", [lambda line: line.replace(b'"x"', b'"y"'), lambda line: b"{}\n", lambda line: b"\xff\n", bytes.upper]
)
def test_rows_behind_a_damaged_line_are_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[bytes], bytes]
) -> None:
    path, journal = tmp_path / "a.jsonl", Episodes(tmp_path / "a.jsonl", "id")
    for row in (*ROWS, {"id": "c", "text": "z"}):
        journal.add(row, {"seconds": 1.0})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], damage(lines[1]), lines[2]]))
    again = Episodes(path, "id")
    assert list(again.rows) == ["a"] and again.took == {"seconds": 1.0}
    assert f"{path} is damaged after 1 rows" in words_of(capsys)
    assert path.read_bytes() == lines[0]


def test_a_sealed_directory_knows_whether_it_is_whole(tmp_path: Path) -> None:
    (tmp_path / "weights.safetensors").write_bytes(b"weights")
    (tmp_path / "template.jinja").write_text("{{ text }}")
    seal(tmp_path)
    assert fault(tmp_path) == ""
    (tmp_path / "weights.safetensors").write_bytes(b"weightz")
    assert fault(tmp_path) == "weights.safetensors has changed since it was written"
    assert fault(tmp_path, skip=".safetensors") == ""
    (tmp_path / "template.jinja").unlink()
    assert "template.jinja" in fault(tmp_path, skip=".safetensors")
    (tmp_path / DIGESTS).write_text("{")
    assert DIGESTS in fault(tmp_path)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOTDIR, errno.EFBIG])
def test_a_file_system_that_refuses_is_told_with_the_place_and_the_cure(code: int) -> None:
    told = trouble_with_files(OSError(code, "why", "data/graph"))
    assert told is not None and told.startswith("data/graph: why: ") and "run the stage again" in told


def test_a_full_disk_is_told_of_a_copied_directory_too(tmp_path: Path) -> None:
    full: Any = shutil.Error([("from", "to", "[Errno 28] No space left on device: 'to'")])
    told = trouble_with_files(full)
    assert told is not None and told.startswith("to: ") and "No space left" in told


def test_a_fault_of_the_program_is_none_of_the_file_systems() -> None:
    for error in (FileNotFoundError(errno.ENOENT, "why", "x"), ValueError("x"), shutil.Error([("a", "b", "odd")])):
        assert trouble_with_files(error) is None
