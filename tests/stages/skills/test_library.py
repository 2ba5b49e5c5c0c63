"""The library: prototypes without answers, ids that survive a refresh, routes, and errors that name the cure."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stages.artifacts import ArtifactError, Stamp
from stages.params import ParamsError
from stages.skills import embed
from stages.skills.checks import CHECKLISTS, GENERIC
from stages.skills.cluster import clusters_of
from stages.skills.library import Library, Settings, built, read_library, tallied, write_library
from stages.skills.refresh import refreshed
from stages.skills.router import Router
from stages.skills.trajectories import Trajectory
from tests.stages.skills.bank import FACTS, call, fails, trace
from tests.stages.skills.labelled import LABELLED

STAMP = Stamp("feedc0de", "0")
TURNS = [replace(trajectory, id=f"conv-{n}") for n, (trajectory, _) in enumerate(LABELLED.values())]


def library(turns: list[Trajectory] = TURNS, router: str = "nearest", size: int = 4) -> Library:
    return built(tallied(turns, FACTS), Settings(min_cluster_size=size, router=router))


def test_prototypes_divide_the_descriptions_and_count_the_data() -> None:
    made = library()
    members = [text for prototype in made.prototypes for text in prototype.members]
    assert len(members) == len(set(members))
    assert set(members) <= set(made.base)
    for prototype in made.prototypes:
        tallies = [made.base[text] for text in prototype.members]
        assert {tally.skill for tally in tallies} == {prototype.skill}
        assert prototype.size == sum(tally.count for tally in tallies)
        assert prototype.checklist == CHECKLISTS[prototype.skill]
        assert set(prototype.examples) <= {turn.id for turn in TURNS}
        assert prototype.mean_score == pytest.approx(
            sum(score * n for tally in tallies for score, n in enumerate(tally.scores)) / prototype.size
        )


def test_pitfalls_are_mined_from_what_failed() -> None:
    found: Counter[str] = Counter()
    for prototype in library().prototypes:
        if prototype.skill == "change_state":
            found.update(dict(prototype.pitfalls))
    assert found["error not_found"] == sum(
        call.error_code == "not_found" and call.position == turn.start + 1
        for turn in TURNS
        for call in turn.calls
        if call.name in FACTS and not FACTS[call.name].read_only
    )
    assert found["invents an identifier or a secret"]


def test_no_value_of_the_data_enters_the_library(tmp_path: Path) -> None:
    write_library(tmp_path / "library.json", library(), STAMP)
    text = (tmp_path / "library.json").read_text()
    assert not [word for word in ("ACC-75526", "7669", "Rainy", "Wei", "120.00") if word in text]


def test_it_comes_back_as_it_was_and_in_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    write_library(first, library(), STAMP)
    read = read_library(first, "feedc0de")
    assert read == library()
    write_library(second, read, STAMP)
    assert first.read_bytes() == second.read_bytes()


def test_a_refresh_without_anything_new_keeps_ids_and_bytes(tmp_path: Path) -> None:
    made, path = library(), tmp_path / "library.json"
    write_library(path, made, STAMP)
    before = path.read_bytes()
    write_library(path, refreshed(made, [], FACTS), STAMP)
    assert path.read_bytes() == before


def test_a_refresh_keeps_ids_adds_new_ones_and_is_idempotent() -> None:
    half = library([turn for turn in TURNS if not any(not call.ok for call in turn.calls)])
    assert not any(prototype.skill in ("recover", "misfire") for prototype in half.prototypes)
    new = refreshed(half, TURNS, FACTS)
    kept = {prototype.id: prototype for prototype in half.prototypes}
    for prototype in new.prototypes:
        if prototype.id in kept:
            assert prototype.skill == kept[prototype.id].skill
        else:
            assert int(prototype.id.removeprefix("skill-")) >= half.next_id
    assert {prototype.id for prototype in new.prototypes} >= set(kept)
    assert {prototype.skill for prototype in new.prototypes} >= {"recover", "misfire"}
    assert refreshed(new, TURNS, FACTS) == new
    assert refreshed(new, [], FACTS).prototypes == half.prototypes


def test_ids_follow_the_centroids_not_the_sizes() -> None:
    reads = [trace("Cards?", [call("list_cards", {"items": [{"id": "CRD-1"}]})], "I found one.", id="a")] * 3
    asks = [trace("Pay.", "Which account do you mean?", id="b")] * 2
    small = library(reads + asks)
    names = {prototype.skill: prototype.id for prototype in small.prototypes}
    grown = refreshed(small, asks * 10, FACTS)
    assert names["look_up"] < names["ask"]  # numbered by size at first
    assert {prototype.skill: prototype.id for prototype in grown.prototypes} == names


@pytest.mark.parametrize("router", ["nearest", "classifier"])
def test_members_are_routed_to_a_prototype_of_their_skill(router: str) -> None:
    made = library(router=router)
    skills = {prototype.id: prototype.skill for prototype in made.prototypes}
    own = {text: prototype.id for prototype in made.prototypes for text in prototype.members}
    route = Router(made)
    assert all(skills[route(text).prototype] == made.base[text].skill for text in own)
    assert sum(route(text).prototype == id for text, id in own.items()) / len(own) > 0.8


def test_what_is_like_nothing_gets_the_generic_rubric() -> None:
    route = Router(library([TURNS[0]]))
    assert route("recover from an error; not found; freeze card") == ("", GENERIC)
    assert route("change the state; freeze card; with card; in banking").prototype


def test_tight_groups_are_found_and_scattered_points_go_to_k_means() -> None:
    dice = np.random.default_rng(3)
    centres = np.eye(3)[np.repeat(range(3), 20)]
    tight = centres + 0.01 * dice.standard_normal(centres.shape)
    found = clusters_of(tight, 10, 0)
    assert (found.method, len(set(found.labels))) == ("hdbscan", 3)
    assert all(len(set(found.labels[start : start + 20])) == 1 for start in (0, 20, 40))
    scattered = dice.standard_normal((64, 30))
    scattered /= np.linalg.norm(scattered, axis=1, keepdims=True)
    found = clusters_of(scattered, 15, 0)
    assert (found.method, len(set(found.labels))) == ("kmeans", 4)  # √64 / 2
    assert clusters_of(scattered[:14], 15, 0) == ([0] * 14, "single", 0.0)


def test_rows_have_length_one_and_halves_weigh_the_same() -> None:
    vectors = embed.embedder_for("tfidf", ["a b; c d", "a b; e f", "g h; c d"])(["a b; c d", "a b; e f", "g h; c d"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert vectors[0] @ vectors[1] == pytest.approx(0.5)
    assert vectors[0] @ vectors[2] == pytest.approx(0.5)


def test_a_missing_sentence_model_names_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "_PACKAGES", ("no_such_package_here",))
    with pytest.raises(ParamsError, match=r"no_such_package_here.*\[bench\].*tfidf"):
        embed.embedder_for("sentence", [])


def test_a_bad_library_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "library.json"
    with pytest.raises(ArtifactError, match="is missing"):
        read_library(path, "feedc0de")
    write_library(path, library(), STAMP)
    with pytest.raises(ArtifactError, match="made with servers feedc0de, these are 0ther"):
        read_library(path, "0ther")
    plain = json.loads(path.read_text())
    plain["prototypes"][0]["checklist"] = ["no_such_check"]
    path.write_text(json.dumps(plain))
    with pytest.raises(ArtifactError, match="unknown check 'no_such_check'"):
        read_library(path, "feedc0de")
    path.write_text(json.dumps({"fingerprint": "feedc0de"}))
    with pytest.raises(ArtifactError, match="another shape"):
        read_library(path, "feedc0de")
    with pytest.raises(ArtifactError, match="no trajectory"):
        built({}, Settings())


def test_errors_of_a_recovery_stand_in_its_description() -> None:
    lost = fails("freeze_card", "not_found", "There is no card '1'.", card_id="1")
    again = trace("Freeze 1.", [lost], [call("freeze_card", card_id="2")], "Done.")
    assert any("recover from an error; not found" in text for text in tallied([again], FACTS))
