"""The viewer's files: every record is in them once, whatever the page sizes, and no text can end a script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stages.report.viewer import shards
from stages.report.viewer.shards import Entry, Facet, Measure, ShardWriter, as_script, coded
from tests.stages.report.shards import decoded, named, records

FACETS = (Facet("server", "server"), Facet("codes", "error code", many=True))
MEASURES = (Measure("reward", "reward"),)


def entry(number: int) -> Entry:
    codes = [f"e{n}" for n in range(number % 3)]
    reward = None if number % 5 == 0 else number / 3
    facets = {"server": f"s{number % 4}", "codes": codes}
    return Entry(f"n{number}", facets, {"reward": reward}, f"text {number}", {"number": number, "long": "x" * 90})


@pytest.mark.parametrize("count", [0, 1, 5, 20, 23])
def test_every_record_is_reachable(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "INDEX_PAGE", 10)
    monkeypatch.setattr(shards, "TEXT_PAGE", 5)
    monkeypatch.setattr(shards, "BODY_CHARACTERS", 300)
    writer = ShardWriter(tmp_path, FACETS, MEASURES)
    for number in range(count):
        writer.add(entry(number))
    head = writer.close()
    found = records(tmp_path, head)
    assert head["count"] == len(found) == count
    for number, record in enumerate(found):
        assert (record["name"], record["text"]) == (f"n{number}", f"text {number}")
        assert record["body"]["number"] == number
        assert named(head, record, "server") == f"s{number % 4}"
        assert named(head, record, "codes") == [f"e{n}" for n in range(number % 3)]
        assert record["reward"] == (None if number % 5 == 0 else round(number / 3, 4))
    assert count < 20 or len(head["body_starts"]) > 5


def test_facets_and_ranges_are_complete(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, FACETS, MEASURES)
    for number in range(12):
        writer.add(entry(number))
    head = writer.close()
    assert head["facets"][0]["values"] == ["s0", "s1", "s2", "s3"] and head["facets"][0]["counts"] == [3, 3, 3, 3]
    assert dict(zip(head["facets"][1]["values"], head["facets"][1]["counts"], strict=True)) == {"e0": 8, "e1": 4}
    assert head["measures"][0]["range"] == [round(1 / 3, 4), round(11 / 3, 4)]


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!--", "]]>", "\u2028\u2029", "\ud800", 'a"\\']
)
def test_no_text_can_end_a_script(text: str) -> None:
    script = as_script({text: [text]})
    assert script.isascii()
    assert not {"<", ">", "&"} & set(script)
    assert json.loads(script) == {text: [text]}


@pytest.mark.parametrize("different", [1, 2, 256, 257, 3000])
def test_columns_come_back_from_their_codes(different: int) -> None:
    column = [(number * 7919) % different for number in range(3000)]
    told = json.loads(as_script(coded(column)))
    assert ("places" in told) == (different > 1) and len(told["values"]) == different
    assert decoded(told, 3000) == column
    sets = [[n, n + 1] if n % 3 else [] for n in column]
    assert decoded(json.loads(as_script(coded(sets))), 3000) == sets


def test_a_column_of_few_values_is_small() -> None:
    script = as_script(coded([number % 20 for number in range(10_000)]))
    assert len(script) < 14_000


def test_lines_within_a_text_do_not_part_records(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, FACETS, MEASURES)
    facets = {"server": "s", "codes": []}
    writer.add(Entry("first\nname", facets, {"reward": None}, "one\ttab\nsecond line", {}))
    writer.add(Entry("second", facets, {"reward": None}, "", {}))
    first, second = records(tmp_path, writer.close())
    assert (first["name"], first["text"]) == ("first name", "one tab\tsecond line")
    assert (second["name"], second["text"]) == ("second", "")
