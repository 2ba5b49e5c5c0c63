"""Files between stages: whole or not at all, the same bytes for the same rows, refused if of other servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages.artifacts import (
    ArtifactError,
    Stamp,
    dump,
    read_json,
    read_table,
    replaced_directory,
    write_json,
    write_table,
    write_text,
)

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int64()), ("parts", pa.list_(pa.string()))])
ROWS: list[dict[str, Any]] = [{"id": f"c-{n}", "n": n, "parts": ["a", "ü"] * (n % 3)} for n in range(500)]
STAMP = Stamp("feedc0de", "1234")


def test_rows_come_back(tmp_path: Path) -> None:
    write_table(tmp_path / "deep" / "t.parquet", SCHEMA, ROWS, STAMP)
    assert read_table(tmp_path / "deep" / "t.parquet", SCHEMA, "feedc0de") == ROWS


def test_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_table(tmp_path / name, SCHEMA, ROWS, STAMP)
    write_table(tmp_path / "c", SCHEMA, ROWS, Stamp("feedc0de", "other"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


def test_a_table_of_other_servers_is_refused_with_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, SCHEMA, ROWS, STAMP)
    with pytest.raises(ArtifactError, match=r"made with servers feedc0de, these are abcd: .*stages\.bootstrap diff"):
        read_table(path, SCHEMA, "abcd")
    assert read_table(path, SCHEMA, None) == ROWS


def test_missing_damaged_and_foreign_tables_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with pytest.raises(ArtifactError, match="is missing: run the stage"):
        read_table(path, SCHEMA, None)
    path.write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(ArtifactError, match="is damaged"):
        read_table(path, SCHEMA, None)
    pq.write_table(pa.table({"id": ["x"]}), path)
    with pytest.raises(ArtifactError, match="another schema"):
        read_table(path, SCHEMA, None)


def test_an_unstamped_table_counts_as_one_of_other_servers(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS, SCHEMA), tmp_path / "t.parquet")
    with pytest.raises(ArtifactError, match="made with servers"):
        read_table(tmp_path / "t.parquet", SCHEMA, "feedc0de")


def test_a_row_that_does_not_fit_leaves_the_old_table(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, SCHEMA, ROWS, STAMP)
    with pytest.raises(pa.ArrowInvalid):
        write_table(path, SCHEMA, [{"id": "x", "n": "no number", "parts": []}], STAMP)
    assert read_table(path, SCHEMA, None) == ROWS


@pytest.mark.parametrize("write", [write_text, write_json])
def test_a_crash_before_the_swap_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any
) -> None:
    path = tmp_path / "m.json"
    write_json(path, {"old": 1})

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        write(path, "new")
    assert read_json(path) == {"old": 1}


def test_a_crash_inside_a_directory_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "data" / "graph"
    with replaced_directory(target) as scratch:
        (scratch / "old").write_text("")
    with pytest.raises(RuntimeError), replaced_directory(target) as scratch:
        (scratch / "new").write_text("")
        raise RuntimeError
    assert [item.name for item in target.iterdir()] == ["old"]
    assert [item.name for item in target.parent.iterdir()] == ["graph"]


def test_a_replaced_directory_holds_only_the_new_files(tmp_path: Path) -> None:
    target = tmp_path / "graph"
    for name in ("old", "new"):
        with replaced_directory(target) as scratch:
            (scratch / name).write_text("")
    assert [item.name for item in target.iterdir()] == ["new"]
    assert target.stat().st_mode & 0o777 == 0o755


def test_nan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "m.json", {"loss": float("nan")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump({"loss": float("inf")})
    assert list(tmp_path.iterdir()) == []


def test_json_that_is_missing_or_damaged_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="is missing"):
        read_json(tmp_path / "m.json")
    (tmp_path / "m.json").write_text("{")
    with pytest.raises(ArtifactError, match="is damaged"):
        read_json(tmp_path / "m.json")


def test_canonical_text() -> None:
    assert dump({"b": [1, 2], "a": "ü"}) == '{"a":"ü","b":[1,2]}'


def test_what_a_killed_writer_left_is_put_right(tmp_path: Path) -> None:
    target = tmp_path / "out"
    for name in (".out.old", ".out.half", ".other.kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    with pytest.raises(RuntimeError), replaced_directory(target):
        raise RuntimeError
    assert (target / "file").read_text() == ".out.old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.kept", "out"]
