from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from stages.evaluate.acebench import ace_scores, controls, en_native, run, zh_training
from stages.evaluate.acebench.adapter import BAD_REFERENCES, AceBench, Scripted
from stages.evaluate.acebench.data import NORMAL, SPECIAL, Language, Task
from stages.evaluate.acebench.history import messages_of
from stages.evaluate.acebench.rendering import Rendering, request_of
from stages.evaluate.benchmark import BenchmarkUnavailableError, Request, TaskResult
from stages.evaluate.loop import OneByOne, Silent, rescore, run_tasks
from stages.evaluate.summary import summarise
from stages.records import Message, ToolCall
from tests.stages.evaluate.acebench_made_up import write_data

ROOT = Path(__file__).parents[3]
DATA = os.environ.get("PROVE_ACEBENCH_DATA")
RENDERINGS: tuple[Rendering, ...] = ("native", "training")
LANGUAGES: tuple[Language, ...] = ("en", "zh")

needs_data = pytest.mark.skipif(
    DATA is None, reason="PROVE_ACEBENCH_DATA does not name ACEBench's folder data_all: see docs/acebench.md"
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("acebench"))


def gold_rows(benchmark: AceBench) -> list[TaskResult]:
    return [
        run_tasks(benchmark, [task], OneByOne(Scripted([benchmark.reference(task.category, i) for i in task.items])))[0]
        for task in benchmark.tasks()
    ]


def task_of(benchmark: AceBench, category: str) -> Task:
    return next(task for task in benchmark.tasks() if task.category == category)


def first_request(benchmark: AceBench, category: str) -> Request:
    task = task_of(benchmark, category)
    return request_of(task.items[0], category, benchmark.language, benchmark.rendering)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rendering", RENDERINGS)
def test_controls_give_their_known_scores_on_made_up_records(
    data: Path, language: Language, rendering: Rendering
) -> None:
    found = {control.name: (control.passed, control.total) for control in controls(data, language, rendering)}
    assert found == {
        "gold_replay_normal": (14, 14),
        "gold_replay_special": (3, 3),
        "do_nothing": (0, 17),
        "last_call_dropped": (0, 14),
    }


@needs_data
@pytest.mark.parametrize("rendering", RENDERINGS)
@pytest.mark.parametrize(("language", "passed", "total"), [("en", 821, 823), ("zh", 813, 817)])
def test_controls_give_their_known_scores(language: Language, rendering: Rendering, passed: int, total: int) -> None:
    made = AceBench(Path(str(DATA)), language, rendering).controls()
    assert {control.name: (control.passed, control.total) for control in made} == {
        "gold_replay_normal": (passed, total),
        "gold_replay_special": (150, 150),
        "do_nothing": (0, total + 150),
        "last_call_dropped": (0, total),
    }
    assert all(control.holds for control in made)


@needs_data
@pytest.mark.parametrize(("language", "published"), [("en", 754), ("zh", 807)])
def test_bad_references_and_the_published_text_path_on_references(language: Language, published: int) -> None:
    benchmark = AceBench(Path(str(DATA)), language)
    rows = gold_rows(benchmark)
    counts: Counter[str] = Counter()
    for row in rows:
        part = "special" if row.category in SPECIAL else "normal"
        counts.update({f"{part}_{name}": value for name, value in row.score.counts.items()})
    assert {row.task_id for row in rows if not row.score.passed} == BAD_REFERENCES[language]
    assert counts["normal_published_items"] == published
    assert counts["normal_items_equal"] == counts["normal_items"]
    assert counts["special_published_items"] == counts["special_items_passed"] == 150
    assert benchmark.version == f"e6db74b, {language}, native"
    assert rescore(benchmark, rows) == rows


def test_every_file_is_read_and_conversations_keep_their_turns(data: Path) -> None:
    tasks = AceBench(data).tasks()
    assert [task.category for task in tasks] == [*NORMAL, *SPECIAL]
    assert {task.id: len(task.items) for task in tasks if len(task.items) > 1} == {
        "normal_multi_turn_user_switch_0": 2,
        "normal_multi_turn_user_adjust_0": 2,
    }


def test_native_prompts_describe_apis_and_notation_as_text(data: Path) -> None:
    request = first_request(AceBench(data), "normal_preference")
    assert request.tools == ()
    system, user = request.messages
    assert "[ApiName(key1='value1', key2='value2')]" in system.content
    assert '"name": "lamp.set"' in system.content and '"name": "old_style"' in system.content
    assert "It is Monday." in system.content and "{'likes': 'jazz'}" in system.content
    assert user.content.endswith("user: Do it.\nsystem: Which one?\nuser: The first.\n")


def test_training_prompts_offer_tools_and_a_history_of_messages(data: Path) -> None:
    benchmark = AceBench(data, rendering="training")
    task = task_of(benchmark, "normal_multi_turn_user_switch")
    request = request_of(task.items[1], task.category, "en", "training")
    assert [tool.name for tool in request.tools] == ["lamp.set", "shop_order", "songs", "old_style"]
    assert request.tools[3].parameters == {"type": "object", "properties": {}, "required": []}
    assert "ApiName" not in request.messages[0].content
    assert [message.role for message in request.messages] == [
        "system", "user", "assistant", "user", "assistant", "assistant", "user",
    ]  # fmt: skip
    assert request.messages[4].tool_calls == (ToolCall("history_3_0", "songs", {"names": ["Naima"], "genre": "jazz"}),)
    assert [message.content for message in request.messages[4:6]] == ["", "Playing."]
    assert request.messages[6].content == "Now the lamp:\n- dim it"


@pytest.mark.parametrize("rendering", RENDERINGS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_special_prompts_state_the_phrases_and_others_do_not(
    data: Path, language: Language, rendering: Rendering
) -> None:
    benchmark = AceBench(data, language, rendering)
    for category in (*NORMAL, *SPECIAL):
        text = first_request(benchmark, category).messages[0].content
        for phrase in (
            "Missing necessary parameters (",
            "There is incorrect value (",
            "the limitations of the function",
        ):
            assert (phrase in text) == (category in SPECIAL)


def test_text_before_the_first_speaker_is_the_users() -> None:
    assert messages_of("Hello\nuser: there") == (Message("user", "Hello"), Message("user", "there"))
    assert messages_of("user：你好\nsystem: [f(a=open('x'))]") == (
        Message("user", "你好"),
        Message("assistant", "[f(a=open('x'))]"),
    )


def test_one_wrong_turn_fails_its_conversation_and_is_counted_by_item(data: Path) -> None:
    benchmark = AceBench(data)
    task = task_of(benchmark, "normal_multi_turn_user_adjust")
    lines = [benchmark.reference(task.category, task.items[0]), Message("assistant", "Done.")]
    row = run_tasks(benchmark, [task], OneByOne(Scripted(lines)))[0]
    assert (row.score.passed, row.score.reason) == (False, f"{task.items[1].id}: unreadable")
    assert (row.score.counts["items_passed"], row.score.counts["items"]) == (1, 2)


def test_a_bad_run_leaves_no_trace_in_later_scores(data: Path) -> None:
    benchmark = AceBench(data)
    before = gold_rows(benchmark)
    hostile = Message("assistant", "[lamp.set(room=__import__('os').system('id'))]")
    for task in benchmark.tasks():
        run_tasks(benchmark, [task], OneByOne(Scripted([hostile, hostile])))
    assert gold_rows(benchmark) == before
    assert rescore(benchmark, before) == before
    assert all(row.score.passed for row in before)


def test_a_run_gives_acebench_figures_the_floor_and_the_same_bytes_again(data: Path) -> None:
    class Gold:
        def __init__(self) -> None:
            benchmark = AceBench(data)
            self.known = {
                (task.id, request_of(item, task.category, "en", "native").messages): benchmark.reference(
                    task.category, item
                )
                for task in benchmark.tasks()
                for item in task.items
            }

        def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
            return [self.known[request.task, tuple(request.messages)] for request in requests]

    first, again = (run(Gold(), data, sample=1, seed=3) for _ in range(2))
    assert first == again
    assert (first.scores.normal, first.scores.special, first.scores.agent) == (1.0, 1.0, None)
    assert first.scores.overall is None
    assert first.scores.published_normal == pytest.approx(10 / 12)
    assert (first.do_nothing.normal, first.do_nothing.special) == (0.0, 0.0)


def test_the_overall_score_is_the_published_sum(data: Path) -> None:
    rows = run_tasks(AceBench(data), AceBench(data).tasks(), OneByOne(Silent()))
    categories = [*summarise(rows).categories]
    agent = summarise(
        [
            TaskResult(name, name, "scored", row.score)
            for name in ("agent_multi_step", "agent_multi_turn")
            for row in rows[:1]
        ]
    ).categories
    full = [
        category if category.category not in SPECIAL else type(category)(**{**_fields(category), "rate": 1.0})
        for category in (*categories, *agent)
    ]
    assert ace_scores(full).overall == pytest.approx(0.2676)
    assert ace_scores(categories[1:]).normal is None


def _fields(category: object) -> dict[str, object]:
    return {name: getattr(category, name) for name in type(category).__dataclass_fields__}  # type: ignore[attr-defined]


def test_missing_data_is_named_with_its_cure(tmp_path: Path) -> None:
    for make in (lambda: en_native(), lambda: zh_training(tmp_path), lambda: run(OneByOne(Silent()), tmp_path)):
        with pytest.raises(BenchmarkUnavailableError, match=r"clone https://github\.com/ACEBench/ACEBench"):
            make()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"data_normal_atom_list\.json, line 1: the line: "),
        ('{"id": 1, "question": "q", "function": []}', r"line 1: id: "),
        ('{"id": "other", "question": "q", "function": []}', r"record other stands where the answers have"),
        ("", r"0 records, but 1 answers"),
    ],
)
def test_a_damaged_record_is_named(tmp_path: Path, line: str, message: str) -> None:
    write_data(tmp_path)
    (tmp_path / "data_en" / "data_normal_atom_list.json").write_text(line, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        AceBench(tmp_path).tasks()


def test_a_damaged_answer_is_named(tmp_path: Path) -> None:
    write_data(tmp_path)
    path = tmp_path / "data_en" / "possible_answer" / "data_special_incomplete.json"
    path.write_text(json.dumps({"id": "special_incomplete_0", "ground_truth": {"lamp.set": "room"}}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"special_incomplete_0: the answer is not an object of lists of text"):
        AceBench(tmp_path).tasks()


def test_the_version_tells_unknown_data(data: Path) -> None:
    assert AceBench(data).version.startswith("unknown data ")
    assert AceBench(data).version.endswith(", en, native")


def test_importing_the_adapter_loads_nothing_heavy() -> None:
    code = (
        "import sys, stages.evaluate.acebench;"
        "print([name for name in ('torch', 'litellm', 'transformers', 'polars') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
