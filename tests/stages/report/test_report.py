"""The page: complete, self-contained, escaped, and clear about what is missing."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from stages.artifacts import ArtifactError, read_json, write_json
from stages.report.__main__ import write_report
from stages.report.inputs import Inputs
from stages.report.sections import SECTIONS


class Tags(HTMLParser):
    """Counts tags and collects attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, list[str]] = {}
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def page(drawn: Inputs) -> str:
    return (drawn.reports / "index.html").read_text()


def test_every_section_stands_on_the_page_and_every_picture_beside_it(drawn: Inputs, page: str) -> None:
    seen = Tags(page)
    assert set(SECTIONS) <= set(seen.attributes["id"])
    sources = seen.attributes["src"]
    assert len(sources) == len(set(sources)) >= 6
    for source in sources:
        assert (drawn.reports / source).read_text().startswith("<?xml")


def test_page_needs_no_network_and_no_script(page: str) -> None:
    seen = Tags(page)
    assert "http" not in page
    assert "//" not in "".join(seen.attributes["href"] + seen.attributes["src"])
    assert "script" not in seen.tags
    assert "link" not in seen.tags


def test_hostile_text_is_text(page: str) -> None:
    seen = Tags(page)
    assert "onerror" not in seen.attributes
    assert "<script>alert('1')</script>" in seen.text  # as the user's message and as the teacher's name
    assert page.count("&lt;script&gt;") >= 3


def test_numbers_reach_the_page(page: str) -> None:
    text = re.sub(r"\s+", " ", Tags(page).text)
    assert "The trained policy earns more than the base: +0.210 [0.100, 0.300] over 25 rows." in text
    assert re.search(r"trained − warm start ?\+0\.010 \[-0\.050, 0\.060\] ?25 ?no clear difference", text)
    assert "1 of 2 servers are not healthy." in text
    assert "1.0% [0.0%, 3.0%]" in text
    assert "2 / 200" in text
    assert "Prompts too long for the policy, which it answered with nothing: trained 3." in text
    assert "teval was not played. It needs a data directory." in text


@pytest.fixture
def board(drawn: Inputs) -> str:
    return (drawn.reports / "leaderboard.html").read_text()


def test_each_score_stands_beside_its_interval_its_floor_and_its_cost(board: str) -> None:
    text = re.sub(r"\s+", " ", Tags(board).text)
    assert re.search(r"trained ?bfcl ?1 ?0\.0 to 3\.0 ?0 ?200 ?1 ?all tasks ?2026\.3\.23 ?12\.5 ?900 ?0\.25", text)
    assert re.search(r"trained ?unseen worlds ?50 ?40\.0 to 60\.0 ?50 ?25 ?0", text)


def test_published_figures_stand_apart_from_ours_with_their_source(board: str) -> None:
    ours, _, theirs = board.partition('id="published"')
    assert "Qwen3" not in ours and "PROVE" not in ours.partition('id="ours"')[2]
    assert "trained</td>" not in theirs
    for source in ("2606.03892v2", "2606.26027", "2601.03555", "Leaderboard, April 2026"):
        assert source in theirs
    assert "not measured here" in theirs


def test_the_board_sorts_without_a_network_and_the_pages_find_each_other(board: str, page: str) -> None:
    seen = Tags(board)
    assert seen.tags.count("script") == 1 and "src" not in seen.attributes
    assert "http" not in board and "index.html" in seen.attributes["href"]
    assert "leaderboard.html" in Tags(page).attributes["href"]
    assert board.count('class="sortable"') == 1


def test_same_inputs_give_the_same_bytes(inputs: Inputs, drawn: Inputs) -> None:
    write_report(inputs)

    def written(run: Inputs) -> dict[str, bytes]:
        files = [
            run.reports / "index.html",
            run.reports / "leaderboard.html",
            *sorted((run.reports / "plots").iterdir()),
        ]
        return {file.name: file.read_bytes() for file in files}

    assert written(inputs) == written(drawn)


@pytest.mark.parametrize("stage", ["bootstrap", "discover", "synthesize", "validate", "evaluate"])
def test_missing_metrics_are_named(inputs: Inputs, stage: str) -> None:
    (inputs.reports / "metrics" / f"{stage}.json").unlink()
    with pytest.raises(ArtifactError, match=rf"{stage}\.json is missing: run the stage"):
        write_report(inputs)
    assert not (inputs.reports / "index.html").exists()
    assert not (inputs.reports / "plots").exists()


def test_missing_log_and_missing_table_are_named(inputs: Inputs) -> None:
    policy = inputs.data / "policy"
    (policy / "sft_log.jsonl").rename(policy / "warm")
    write_report(inputs)  # a run without a warm start
    assert "Warm start: no steps." in (inputs.reports / "index.html").read_text()
    (policy / "grpo_log.jsonl").rename(policy / "other")
    with pytest.raises(ArtifactError, match=r"grpo_log\.jsonl is missing: run `python -m stages\.train`"):
        write_report(inputs)
    (policy / "other").rename(policy / "grpo_log.jsonl")
    (policy / "warm").rename(policy / "sft_log.jsonl")
    (inputs.data / "scores" / "episodes.parquet").write_bytes(b"no table")
    with pytest.raises(ArtifactError, match=r"episodes\.parquet is damaged"):
        write_report(inputs)


def test_metrics_of_another_shape_name_the_section_and_the_key(inputs: Inputs) -> None:
    path = inputs.reports / "metrics" / "evaluate.json"
    write_json(path, {key: value for key, value in read_json(path).items() if key != "policies"})
    with pytest.raises(ArtifactError, match=r"section 'rewards'.*'policies'"):
        write_report(inputs)


def test_what_did_not_happen_is_said(inputs: Inputs) -> None:
    nothing = {"benchmarks": {}, "unavailable": {}, "policies": {}, "unseen": {}}
    for stage, change in {"evaluate": nothing, "validate": {"reasons": {}}}.items():
        path = inputs.reports / "metrics" / f"{stage}.json"
        write_json(path, read_json(path) | change)
    write_report(inputs)
    text = (inputs.reports / "index.html").read_text()
    assert "No benchmark was played." in text
    assert "No held-out row was played." in text
    assert "Nothing was rejected." in text
