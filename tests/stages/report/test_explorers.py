"""The explorers' data: every record of the tables is there, with what the viewer tells of it."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow.parquet as pq
import pytest

from stages.artifacts import ArtifactError
from stages.params import ReportParams
from stages.report.__main__ import write_report
from stages.report.inputs import Inputs
from stages.report.pages.explorers import EXPLORERS
from stages.report.pages.trajectories import Spread
from tests.stages.report.conftest import HOSTILE, make_run
from tests.stages.report.made import first_card
from tests.stages.report.shards import header, named, records


@pytest.fixture
def head(drawn: Inputs) -> dict[str, Any]:
    return header(drawn.reports / "trajectories.html")


@pytest.fixture
def episodes(drawn: Inputs, head: dict[str, Any]) -> list[dict[str, Any]]:
    return records(drawn.reports / head["root"], head)


@pytest.fixture
def talks(drawn: Inputs) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    found = header(drawn.reports / "dataset.html")
    return found, records(drawn.reports / found["root"], found)


def test_every_episode_of_every_table_is_there(
    drawn: Inputs, head: dict[str, Any], episodes: list[dict[str, Any]]
) -> None:
    tables = ("scores/episodes", "rollouts/validation", "rollouts/train")
    rows = [row for name in tables for row in pq.read_table(drawn.data / f"{name}.parquet").to_pylist()]
    assert [record["name"].split(" · ")[0] for record in episodes] == [row["row"] for row in rows]
    assert [named(head, record, "policy") for record in episodes] == [row["policy"] for row in rows]
    assert [record["body"]["total"] for record in episodes] == [row["total"] for row in rows]
    sets = [named(head, record, "set") for record in episodes]
    assert sets == ["unseen chains"] * 2 + ["validation"] * 2 + ["training"] * 6


def test_steps_of_training_are_told_apart(episodes: list[dict[str, Any]]) -> None:
    assert [record["step"] for record in episodes] == [None, None, 0, 10, 1, 1, 1, 2, 2, 2]
    assert episodes[-1]["name"].endswith("step 2, sample 2")


def test_filters_tell_outcome_and_error_codes(head: dict[str, Any], episodes: list[dict[str, Any]]) -> None:
    bad, good = episodes[:2]
    assert named(head, bad, "outcome") == "not solved" and named(head, good, "outcome") == "solved"
    assert named(head, bad, "codes") == ["invalid_arguments", "not_found", "unknown_tool"]
    assert named(head, good, "codes") == ["no error"]
    assert named(head, bad, "levels") == "0 of 3"


def test_calls_say_how_far_they_got_and_where_values_come_from(episodes: list[dict[str, Any]]) -> None:
    made_up, lacking, unknown = [event for event in episodes[0]["body"]["events"] if event["t"] == "call"]
    assert made_up["why"] == "level 2 of 3: fits the schema, ran and failed with not_found"
    assert lacking["why"] == "level 1 of 3: lacks card_id"
    assert unknown["why"] == "level 0 of 3: no visible tool has this name"
    assert [kind for _, _, kind, _ in made_up["arguments"]] == ["nowhere"]
    events = episodes[1]["body"]["events"]
    listed, frozen = [event for event in events if event["t"] == "call"]
    assert listed["arguments"] == []
    assert frozen["arguments"] == [["card_id", f'"{first_card()}"', "result", events.index(listed)]]


def test_state_diffs_stand_at_the_call_and_at_the_end(episodes: list[dict[str, Any]]) -> None:
    listed, frozen = [event for event in episodes[1]["body"]["events"] if event["t"] == "call"]
    assert listed["diff"] == []
    (change,) = frozen["diff"]
    assert (change["table"], change["id"], change["kind"]) == ("banking.Card", first_card(), "changed")
    assert ["status", "active", "frozen"] in change["fields"]
    assert episodes[1]["body"]["end"] == []
    (missed,) = episodes[0]["body"]["end"]
    assert missed["id"] == first_card() and ["status", "frozen", "active"] in missed["fields"]


def test_expected_stands_beside_made(episodes: list[dict[str, Any]]) -> None:
    (compared,) = episodes[0]["body"]["compared"]
    listing, freezing = compared["rows"]
    assert listing["made"] is None and listing["why"].startswith("missing")
    assert freezing["made"]["n"] == 1 and freezing["differs"] == ["card_id"]
    assert freezing["why"] == "met by call 1, out of order: it has to follow list_cards, which is missing"
    assert [call["n"] for call in compared["extra"]] == [2, 3]


def test_without_a_row_or_beyond_the_limit_the_viewer_says_so(tmp_path: Any, episodes: list[dict[str, Any]]) -> None:
    lost = [record["body"]["no_diff"] for record in episodes if record["name"].startswith("conv-000001")]
    assert len(lost) == 3 and set(lost) == {"its row is not in data/dataset, so it cannot be run again"}
    run = make_run(tmp_path)
    few = Inputs(run.data, run.reports, run.document, params=ReportParams(state_diffs=1), catalog=run.catalog)
    write_report(few)
    told = header(few.reports / "trajectories.html")
    said = [record["body"]["no_diff"] for record in records(few.reports / told["root"], told)]
    limited = [text.startswith("only 1 of 10 are run again") for text in said]
    assert limited == [True, False] + [True] * 8 and said[1] == ""  # held-out episodes go first


@pytest.mark.parametrize(
    ("column", "old", "new", "why"),
    [
        ("calls", '\\"total\\":', '\\"sum\\":', "list_cards answers otherwise than it did"),
        ("state_hash", "", "0", "it ends in another state"),
    ],
)
def test_servers_that_do_otherwise_are_told(tmp_path: Any, column: str, old: str, new: str, why: str) -> None:
    run = make_run(tmp_path)
    path = run.data / "scores" / "episodes.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[1][column] = rows[1][column].replace(old, new, 1)
    pq.write_table(table.from_pylist(rows, table.schema), path)
    write_report(run)
    told = header(run.reports / "trajectories.html")
    body = records(run.reports / told["root"], told)[1]["body"]
    assert body["no_diff"] == f"it does not run again on these servers: {why}"
    assert body["end"] is None


def test_conversations_say_what_became_of_them(talks: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    head, found = talks
    assert [record["name"] for record in found] == ["conv-000000", "conv-000001", "conv-000002"]
    assert [named(head, record, "status") for record in found] == ["accepted", "rejected", "accepted"]
    assert [named(head, record, "split") for record in found] == ["train", "none", "test"]
    assert [named(head, record, "reason") for record in found] == ["none", "near_duplicate", "none"]
    assert named(head, found[1], "perturbations") == ["distractors"]
    assert found[1]["body"]["verdict"] == [f"Rejected: near_duplicate. {HOSTILE}"]
    assert [event["t"] for event in found[0]["body"]["events"]] == ["turn", "say", "call", "call", "say"]
    assert found[0]["body"]["events"][3]["diff"][0]["id"] == first_card()
    assert all(row["good"] for row in found[0]["body"]["compared"][0]["rows"])


def test_the_graph_has_every_tool_and_edge(drawn: Inputs) -> None:
    graph = header(drawn.reports / "graph.html")
    assert {tool["name"] for tool in graph["tools"]} == set(drawn.catalog.entries)
    proved, claimed = graph["edges"]
    first, second = graph["tools"][proved["first"]], graph["tools"][proved["second"]]
    assert (first["name"], second["name"]) == ("list_cards", "freeze_card") and first["x"] < second["x"]
    assert (proved["verdict"], proved["evidence"], claimed["verdict"]) == ("explicit", HOSTILE, "none")
    assert {panel["server"] for panel in graph["panels"]} == {"banking", "budget"}
    places = [(tool["x"], tool["y"]) for tool in graph["tools"]]
    assert len(set(places)) == len(places)


def test_pages_hold_no_markup_of_data_and_no_address(drawn: Inputs) -> None:
    for name in EXPLORERS:
        text = (drawn.reports / name).read_text()
        assert "alert('1')" not in text.replace("\\u003cscript\\u003ealert('1')", "")
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_same_inputs_give_the_same_files(inputs: Inputs, drawn: Inputs) -> None:
    write_report(inputs)

    def written(run: Inputs) -> dict[str, bytes]:
        pages = [run.reports / name for name in EXPLORERS]
        files = [*pages, *sorted((run.reports / "viewer").rglob("*.js"))]
        return {str(path.relative_to(run.reports)): path.read_bytes() for path in files}

    assert written(inputs) == written(drawn)


def test_a_missing_table_is_named(inputs: Inputs) -> None:
    (inputs.data / "conversations" / "conversations.parquet").unlink()
    with pytest.raises(ArtifactError, match=r"conversations\.parquet is missing: run the stage"):
        write_report(inputs)
    assert not (inputs.reports / "viewer").exists() and not (inputs.reports / "index.html").exists()


@pytest.mark.parametrize(("wanted", "total"), [(0, 7), (3, 7), (7, 7), (500, 2880)])
def test_picks_are_so_many_and_spread(wanted: int, total: int) -> None:
    picks = [index for index in range(total) if Spread(wanted, total).picks(index)]
    assert len(picks) == wanted
    gaps = [b - a for a, b in itertools.pairwise(picks)]
    assert not gaps or max(gaps) - min(gaps) <= 1
