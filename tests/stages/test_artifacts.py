"""Files between stages: whole or not at all, the same bytes for the same rows, refused if of other servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages import artifacts
from stages.artifacts import (
    ArtifactError,
    Stamp,
    dump,
    read_json,
    read_table,
    remove_directory,
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


def test_one_changed_byte_in_a_page_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, SCHEMA, [{**ROWS[0], "id": "an-identifier-of-some-length"}], STAMP)
    content = path.read_bytes()
    at = content.index(b"an-identifier")
    path.write_bytes(content[:at] + b"AN" + content[at + 2 :])
    with pytest.raises(ArtifactError, match="is damaged"):
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


def test_nan_becomes_null_in_json_and_is_refused_in_canonical_text(tmp_path: Path) -> None:
    write_json(tmp_path / "m.json", {"loss": float("nan"), "rewards": [1.5, (float("-inf"), 2)], "n": 3})
    assert json.loads((tmp_path / "m.json").read_text()) == {"loss": None, "rewards": [1.5, [None, 2]], "n": 3}
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump({"loss": float("inf")})


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


def test_the_scratch_of_a_killed_writer_is_removed_by_the_next(tmp_path: Path) -> None:
    path, other = tmp_path / "m.json", tmp_path / ".n.json.7"
    (tmp_path / ".m.json.4711").write_text("half")
    other.write_text("another file's")
    write_json(path, {"new": 1})
    assert sorted(tmp_path.iterdir()) == [other, path]


def test_a_directory_is_removed_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    for name in ("a", "b"):
        (work / name).mkdir(parents=True)

    def killed(path: Path, **_: object) -> None:
        if path.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_directory(work)
    assert not work.exists()
    (work / "new").mkdir(parents=True)
    remove_directory(work)
    remove_directory(work)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"id": ["x"], "parts": [["a"]]}, "column n is missing"),
        ({"id": ["x"], "n": [1], "parts": [["a"]], "more": [1]}, "column more is unknown"),
        ({"id": ["x"], "n": [1.5], "parts": [["a"]]}, "column n is double, not int64"),
        ({"n": [1], "id": ["x"], "parts": [["a"]]}, "its columns are in another order"),
    ],
)
def test_a_table_of_another_version_is_refused_with_the_difference(
    tmp_path: Path, columns: dict[str, Any], told: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(ArtifactError, match=f"another schema than this version: {told}; run its stage again"):
        read_table(tmp_path / "t.parquet", SCHEMA, None)


def test_a_changed_byte_in_a_page_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, SCHEMA, ROWS, STAMP)
    whole = path.read_bytes()
    body = len(whole) - int.from_bytes(whole[-8:-4], "little") - 8
    for place in range(4, body, 61):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            assert read_table(path, SCHEMA, "feedc0de") == ROWS
        except ArtifactError as error:
            assert "is damaged" in str(error)


def test_a_small_file_that_unpacks_to_more_than_memory_holds_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, schema = tmp_path / "bomb.parquet", pa.schema([("text", pa.string())])
    pq.write_table(pa.table({"text": pa.nulls(artifacts.MOST_ROWS + 1, pa.string())}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(ArtifactError, match="unpacks to 10,000,001 rows"):
        read_table(path, schema, None)
    monkeypatch.setattr(artifacts, "MOST_BYTES", 1_000_000)
    pq.write_table(pa.table({"text": ["a" * 1_000_001]}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(ArtifactError, match=r"unpacks to 1 rows, \d,\d{3},\d{3} bytes"):
        read_table(path, schema, None)
