"""Golden answers to made-up records, for all six abilities, odd answers included."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stages.evaluate.teval.data import Ability, Format, TevalTask
from stages.evaluate.teval.plan import Step, plan_f1, read_json_plan, read_prose_plan
from stages.evaluate.teval.reading import read_choice, read_literal, read_object, read_template
from stages.evaluate.teval.scoring import score_answer


class Same:
    """1 for equal texts, 0 for others, unless a pair is given its own cosine."""

    name = "same"

    def __init__(self, pairs: dict[tuple[str, str], float] | None = None) -> None:
        self.pairs = pairs or {}

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        rows = [[self.pairs.get((a, b), float(a == b)) for b in right] for a in left]
        return np.array(rows).reshape(len(left), len(right))


def task(ability: Ability, kind: Format, gold: Any, template: dict[str, str] | None = None) -> TevalTask:
    return TevalTask(f"{ability}_{kind}/q", ability, kind, (), gold, template or {}, ("A.one", "A.one_more", "B.two"))


def value(given: TevalTask, text: str, similarity: Same | None = None) -> float:
    score = score_answer(given, text, similarity or Same())
    assert score.value is not None
    assert score.passed == (score.value == 1)
    return score.value


STRING = {
    "thought_start": "Thought:",
    "thought_end": "\n",
    "action_start": "Action:",
    "action_end": "\n",
    "args_start": "Args:",
    "args_end": "\n",
}
CALL = {"action": "A.one", "args": {"x": 1, "y": "b"}}
ACTION = task("instruct", "string", CALL, STRING)
KEYED = task("instruct", "json", CALL, {"thought": "t", "action": "a", "args": "g"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thought: hm\nAction: A.one\nArgs: {'x': 1, 'y': 'b'}\n", 1.0),
        ('Thought: hm\nAction: A.one\nArgs: {"x": 1, "y": "b"}\n', 1.0),
        ("Thought: hm\nAction: A.one\nArgs: {'x': 1, 'y': 'b', 'z': 0}\nand so on", 1.0),
        ("Thought: hm\nAction: A.one\nArgs: {'x': 1}\n", (1 + 2 / 3) / 2),
        ("Thought: hm\nAction: A.one\nArgs: {'x': '1', 'y': 'b'}\n", (1 + 2 / 3) / 2),
        ("Thought: hm\nAction: B.two\nArgs: {'x': 1, 'y': 'b'}\n", (1 + 2 / 3) / 2),
        ("Thought: hm\nAction: A.one\nArgs: none of them\n", (1 + 1 / 3) / 2),
        ("Thought: hm\nAction: A.one\nArgs: __import__('os').system('false')\n", (1 + 1 / 3) / 2),
        ("Thought: hm\nAction: B.two\nArgs: []\n", 0.5),
        ("Thought: hm\nArgs: {'x': 1, 'y': 'b'}\n", 0.0),
        ("A.one(x=1, y='b')", 0.0),
        ("", 0.0),
    ],
)
def test_instruct_in_a_template(text: str, expected: float) -> None:
    assert value(ACTION, text) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"t": "", "a": "A.one", "g": {"x": 1, "y": "b"}}', 1.0),
        ('Sure:\n```json\n{"t": "", "a": "A.one", "g": {"x": 1, "y": "b"}}\n```\nDone {really}.', 1.0),
        ("{'t': None, 'a': 'A.one', 'g': {'x': 1, 'y': 'b'}}", 1.0),
        ('{"t": "", "a": "A.one", "g": "{}"}', (1 + 1 / 3) / 2),
        ('{"a": "A.one", "g": {"x": 1, "y": "b"}}', 0.0),
        ('{"t": "", "a": "A.one", "g": {"x": 1', 0.0),
        ('["t", "a", "g"]', 0.0),
    ],
)
def test_instruct_in_json(text: str, expected: float) -> None:
    assert value(KEYED, text) == pytest.approx(expected, abs=1e-6)


def test_a_missing_argument_is_not_an_empty_one() -> None:
    empty = task("instruct", "json", {"action": "A.one", "args": {"x": ""}}, {})
    assert value(empty, '{"thought": "", "action": "A.one", "args": {}}') == 0.75
    assert value(empty, '{"thought": "", "action": "A.one", "args": {"x": ""}}') == 1.0


GOLD = [{"id": i, "name": name, "args": {"n": i}} for i, name in enumerate(("A.one", "B.two", "A.one_more"))]
FINISH = {"id": 9, "name": "FinishAction", "args": {}}


def plan(*steps: tuple[int, str, int]) -> str:
    return json.dumps([{"id": i, "name": name, "args": str({"n": n})} for i, name, n in steps])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (plan((0, "A.one", 0), (1, "B.two", 1), (2, "A.one_more", 2)), 1.0),
        (plan((2, "A.one_more", 2), (0, "A.one", 0), (1, "B.two", 1)), 1.0),
        (plan((0, "A.one", 0), (1, "B.two", 1), (2, "A.one_more", 2), (3, "FinishAction", 0)), 1.0),
        ("Here it is: " + plan((0, "A.one", 0), (1, "B.two", 1)) + " I hope it helps.", 4 / 5),
        (plan((0, "B.two", 1), (1, "A.one", 0), (2, "A.one_more", 2)), 2 / 3),
        (plan((0, "A.one_more", 2), (1, "B.two", 1), (2, "A.one", 0)), 1 / 3),
        (plan((0, "A.one", 0), (1, "C.bad", 1)), 2 / 5),
        (plan((0, "C.bad", 0), (1, "C.bad", 1)), 0.0),
        (plan((0, "C.bad", 0)), 0.0),
        (json.dumps([FINISH]), 0.0),
        ("[]", 0.0),
        ('[{"id": "one", "name": "A.one", "args": {}}]', 0.0),
        ('[{"id": 1e999, "name": "A.one", "args": {}}]', 0.0),
        ('["A.one"]', 0.0),
        ("A.one, then B.two", 0.0),
    ],
)
def test_plan_in_json(text: str, expected: float) -> None:
    assert value(task("plan", "json", [*GOLD, FINISH]), text) == pytest.approx(expected, abs=1e-6)


def test_a_wrong_step_against_a_one_step_plan_scores_nothing() -> None:
    one = task("plan", "json", [GOLD[0], FINISH])
    assert value(one, plan((0, "C.bad", 5))) == 0.0
    assert value(one, plan((0, "A.one", 0))) == 1.0


def test_a_plan_of_only_the_finish_does_not_crash() -> None:
    only = task("plan", "json", [FINISH])
    assert value(only, json.dumps([FINISH])) == 1.0
    assert value(only, plan((0, "A.one", 0))) == 0.0
    assert value(task("plan", "json", GOLD), json.dumps([FINISH])) == 0.0


def test_plan_in_prose() -> None:
    steps = read_prose_plan(
        "1. Use A.one_more to x. Then B.two, then A.one.\nThat is all.", ["A.one", "A.one_more", "B.two"]
    )
    assert [step.name for step in steps] == ["A.one_more", "B.two"]
    near = {(f"Use {g['name']} to go", str(g["args"])): 0.3 for g in GOLD}
    text = "\n".join(f"Use {g['name']} to go" for g in GOLD)
    assert value(task("plan", "string", [*GOLD, FINISH]), text, Same(near)) == 1.0
    assert value(task("plan", "string", [*GOLD, FINISH]), text, Same()) == 0.0
    assert score_answer(task("plan", "string", GOLD), "I can't.", Same()).reason == "unreadable"


def test_matching_takes_the_heaviest_pairs_and_keeps_their_order() -> None:
    near = Same({("a", "x"): 0.9, ("a", "y"): 1.0, ("b", "y"): 0.95, ("b", "x"): 0.0})
    answer, gold = [Step("a", ""), Step("b", "")], [Step("x", ""), Step("y", "")]
    assert plan_f1(answer, gold, near) == 1.0  # a-x and b-y weigh more together than a-y alone
    assert plan_f1(answer[::-1], gold, near) == 0.5
    assert plan_f1([Step("a", "")], gold, Same({("a", "x"): 0.73})) == 0.0  # .75 * .73 + .25 is below .8


def test_steps_are_ordered_by_number_and_written_as_text() -> None:
    assert read_json_plan("[{'id': '2', 'name': 7, 'args': {'k': 'v'}}, {'id': 1, 'name': 'n', 'args': ''}]") == [
        Step("n", ""),
        Step("7", "{'k': 'v'}"),
    ]


STEP = {"thought": "do it", "name": "A.one", "args": {"x": 1, "y": "b"}}


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("string", "do it", 1.0),
        ("string", "do that", 0.4),
        ("string", "other", 0.0),
        ("string", " \n", 0.0),
        ("json", '{"thought": "do that", "name": "?"}', 0.4),
        ("json", "Thought: do it", 0.0),
        ("json", '{"name": "A.one"}', 0.0),
        ("json", '{"thought": ""}', 0.0),
    ],
)
def test_reason_is_the_cosine_of_thoughts(kind: Format, text: str, expected: float) -> None:
    assert value(task("reason", kind, STEP), text, Same({("do that", "do it"): 0.4})) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("string", "A.one", 1.0),
        ("string", "Use `A.one`, please.", 1.0),
        ("string", "A.one or B.two", 0.0),
        ("string", "A.one, then FinishAction", 0.0),
        ("string", "A.one_more", 0.0),
        ("string", "a.one", 0.0),
        ("json", '{"name": "A.one"}', 1.0),
        ("json", '{"name": " A.one"}', 0.0),
        ("json", '{"name": ["A.one"]}', 0.0),
        ("json", "A.one", 0.0),
    ],
)
def test_retrieve_is_the_exact_name(kind: Format, text: str, expected: float) -> None:
    assert value(task("retrieve", kind, STEP), text) == expected


@pytest.mark.parametrize(
    ("kind", "args", "text", "expected"),
    [
        ("json", {"x": 1, "y": "b"}, '{"args": {"x": "1", "y": "c", "z": 2}}', 0.5),
        ("json", {"x": 1, "y": "b"}, '{"args": "{\'x\': 1}"}', 0.5),
        ("json", {"x": 1}, '{"args": [1]}', 0.0),
        ("json", {}, '{"args": {}}', 1.0),
        ("json", {}, '{"args": {"x": 1}}', 0.0),
        ("json", {}, '{"name": "A.one"}', 0.0),
        ("string", {"x": 1, "y": "b"}, "{'x': 1, 'y': 'b'}", 1.0),
        ("string", {"x": 1, "y": "b"}, "The arguments are {'x': 1}.", 0.5),
        ("string", "{'x': 1, 'y': 'b'}", '{"y": "b", "x": 1}', 1.0),
        ("string", {"x": 1}, "x is 1", 0.0),
        ("string", {}, "{}", 1.0),
        ("string", "plain words", "'plain words'\n", 1.0),
        ("string", "plain words", "other words", 0.0),
        ("string", "keep {'x': 1} as it is", "keep {'x': 1} as it is", 1.0),
        ("string", "keep {'x': 1} as it is", "{'x': 1}", 0.0),
    ],
)
def test_understand_is_the_share_of_equal_arguments(kind: Format, args: Any, text: str, expected: float) -> None:
    assert value(task("understand", kind, {**STEP, "args": args}), text) == expected


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: B", "B"),
        ("Answer：B", "B"),
        ("Ａｎｓｗｅｒ：Ｂ", "B"),
        ("**Answer:** **B**", "B"),
        ("**B**", "B"),
        ("[B]", "B"),
        ("Answer: [B]", "B"),
        ("(b)", "B"),
        ("【B】", "B"),
        ("答案：B", "B"),
        ("答案是B。", "B"),
        ("answer: b", "B"),
        ("b", "B"),
        ("ANSWER = D", "D"),
        ("Answer:\nC", "C"),
        ("The answer is E.", "E"),
        ("Answer: A. Because B would mean that it broke.", "A"),
        ("Answer: A, because all went well", "A"),
        ("Answer: A all went well", "A"),
        ("B: Internal error -- the tool broke", "B"),
        ("B because the tool broke", "B"),
        ("It timed out.\n\nB", "B"),
        ("Answer: \\boxed{D}", "D"),
        ("A", "A"),
        ("Because it broke", None),
        ("All is well", None),
        ("Error: the tool broke", None),
        ("A malfunction of the tool", None),
        ("I can't answer a question like this", None),
        ("answer: a malfunction", None),
        ("Answer: Because it broke", None),
        ("Answer: [Insert your choice here, choosing from A, B, C, D, and E.]", None),
        ("Answer: A or B", None),
        ("Answer: A, B", None),
        ("A: Success\nB: Internal error\nC: Input Error", None),
        ("Answer: F", None),
        ("Ответ: В", None),
        ("", None),
    ],
)
def test_a_choice_is_read_however_it_is_written(text: str, letter: str | None) -> None:
    assert read_choice(text) == letter


def test_review_is_the_choice() -> None:
    assert value(task("review", "string", {"answer": "B"}), "Answer：B") == 1.0
    assert value(task("review", "string", {"answer": "A"}), "Answer：B") == 0.0
    assert value(task("review", "json", {"answer": "B"}), '{"answer": "b"}') == 1.0
    assert value(task("review", "json", {"answer": "B"}), "Answer: B") == 0.0
    unread = score_answer(task("review", "string", {"answer": "B"}), "No idea.", Same())
    assert (unread.reason, unread.counts, unread.value) == ("unreadable", {"read": 0}, 0.0)


@pytest.mark.parametrize("kind", ["json", "string"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{" * 15_000,
        '{"args": ' * 3_000,
        "{'args': " + "(" * 5_000 + ")" * 5_000 + "}",
        "{'args': " + "-" * 15_000 + "1}",
        "{'args': " + "1+" * 8_000 + "1}",
        "{'args': {[]: 1}}",
        '{"args": ' + "9" * 10_000 + "}",
        '{"args": NaN, "name": NaN, "thought": NaN, "id": NaN}',
        "{'args': 9**9**9}",
        "Answer:" * 20_000,
        "a " * 50_000,
        "x" * 100_000,
        "x." * 50_000,
        "\ud800 {\x00}",
        "Action:" * 30_000 + "\nArgs:" * 30_000,
    ],
)
def test_hostile_answers_are_wrong_quickly(kind: Format, text: str) -> None:
    golds: dict[Ability, Any] = {"instruct": CALL, "plan": GOLD, "reason": STEP, "retrieve": STEP, "understand": STEP}
    begun = time.process_time()
    for ability, gold in {**golds, "review": {"answer": "B"}}.items():
        template = STRING if kind == "string" else {}
        assert value(task(ability, kind, gold, template), text) == 0.0
    assert time.process_time() - begun < 5


def test_text_is_parsed_as_data() -> None:
    assert read_literal(" {'a': (1, None)} ") == {"a": (1, None)}
    assert read_literal("open('x')") is None
    assert read_literal("().__class__") is None
    assert read_object("x {'a': True} y", dict) == {"a": True}
    assert read_object('{"a": true} {"a": false}', dict) == {"a": True}
    assert read_object("{'a': true}", dict) == {"a": True}
    assert read_object("{1, 2}", dict) is None
    assert read_object("nothing", list) is None


def test_of_repeated_markers_the_last_count() -> None:
    text = "Thought: x\nAction: a\nArgs: 1\nThought: y\nAction: b\nArgs: 2\ntail"
    assert read_template(text, STRING) == ("b", "2")
    assert read_template("Action: b\nArgs: 2\n", STRING) is None
    assert read_template("Thought: x\nAction: a\nArgs: 1", {**STRING, "args_end": ""}) == ("a", "1")
