"""The viewer's files: every record is in them once, whatever the page sizes, and no text can end a script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stages.report.viewer import shards
from stages.report.viewer.shards import Entry, Facet, Measure, ShardWriter, as_script
from tests.stages.report.shards import named, records

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
