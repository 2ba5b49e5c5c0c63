"""T-Eval's rule for each ability: from an answer's text to a value between 0 and 1.

    instruct     mean of format (1 if it can be read) and arguments (share of tool name and arguments right)
    plan         F1 of the matched steps
    reason       cosine of the thought and the reference's
    retrieve     1 if it is exactly the reference's tool
    understand   share of the reference's arguments that are equal; with none, 1 if the answer has none either
    review       1 if it is the reference's choice

An answer that can't be read is 0, and so is an empty one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from stages.evaluate.benchmark import Score
from stages.evaluate.teval.data import Ability, TevalTask
from stages.evaluate.teval.plan import FINISH, plan_f1, read_json_plan, read_prose_plan, steps_of
from stages.evaluate.teval.reading import read_choice, read_literal, read_object, read_template
from stages.evaluate.teval.similarity import Similarity
from stages.records import Json

_DIGITS = 6
_TOOL_NAME = re.compile(rf"\b\w+\.\w+|{FINISH}")
_ABSENT = object()
_QUOTES = " \n'\""


def score_answer(task: TevalTask, text: str, similarity: Similarity) -> Score:
    """The verdict on an answer, with partial credit."""
    value = _RULES[task.ability](task, text, similarity) if text.strip() else None
    if value is None:
        return Score(False, "unreadable" if text.strip() else "empty", {"read": 0}, value=0.0)
    value = round(value, _DIGITS)
    return Score(value == 1, "" if value == 1 else "partly_right" if value else "wrong", {"read": 1}, value=value)


def _instruct(task: TevalTask, text: str, similarity: Similarity) -> float | None:
    said = _instruct_json(task, text) if task.format == "json" else _instruct_string(task, text)
    if said is None:
        return None
    action, arguments = said
    gold = _mapping(task.gold)
    wanted = _mapping(gold["args"])
    right = (action == gold["action"]) + sum(arguments.get(name, _ABSENT) == value for name, value in wanted.items())
    return (1 + right / (1 + len(wanted))) / 2


def _instruct_json(task: TevalTask, text: str) -> tuple[Json, Mapping[str, Json]] | None:
    said = read_object(text, dict)
    keys = [task.template.get(part, part) for part in ("thought", "action", "args")]
    if said is None or any(key not in said for key in keys):
        return None
    return said[keys[1]], _mapping(said[keys[2]])


def _instruct_string(task: TevalTask, text: str) -> tuple[Json, Mapping[str, Json]] | None:
    said = read_template(text, task.template)
    return None if said is None else (said[0], _mapping(read_literal(said[1])))


def _plan(task: TevalTask, text: str, similarity: Similarity) -> float | None:
    answer = read_json_plan(text) if task.format == "json" else read_prose_plan(text, task.apis)
    if answer is None or (task.format == "string" and not answer):
        return None
    return plan_f1(answer, steps_of(task.gold) or (), similarity)


def _reason(task: TevalTask, text: str, similarity: Similarity) -> float | None:
    thought = _part(task, text, "thought")
    return None if not thought else float(similarity([str(thought)], [str(_mapping(task.gold)["thought"])])[0, 0])


def _retrieve(task: TevalTask, text: str, similarity: Similarity) -> float | None:
    wanted = str(_mapping(task.gold)["name"])
    if task.format == "json":
        said = _part(task, text, "name")
        return None if said is None else float(said == wanted)
    others = [name for name in _TOOL_NAME.findall(text) if name != wanted]
    return float(wanted in text and not others)


def _understand(task: TevalTask, text: str, similarity: Similarity) -> float | None:
    gold = _mapping(task.gold)["args"]
    said = _part(task, text, "args")
    if isinstance(gold, str) and gold.strip().startswith("{"):
        gold = gold if (wanted := read_object(gold, dict)) is None else wanted
    if not isinstance(gold, dict):
        return float(str(said).strip(_QUOTES) == str(gold).strip(_QUOTES))
    given = read_object(said, dict) if isinstance(said, str) else said
    if not isinstance(given, dict):
        return None
    if not gold:
        return float(not given)
    return sum(name in given and str(given[name]) == str(value) for name, value in gold.items()) / len(gold)


def _review(task: TevalTask, text: str, similarity: Similarity) -> float | None:
    if task.format == "json":
        said = read_object(text, dict)
        text = "" if said is None else str(said.get("answer", ""))
    choice = read_choice(text)
    gold = task.gold
    return None if choice is None else float(choice == (gold["answer"] if isinstance(gold, dict) else gold))


def _part(task: TevalTask, text: str, name: str) -> Json:
    """A part of an answer in JSON, or the whole text of one in prose; None if it can't be read."""
    if task.format == "string":
        return text
    said = read_object(text, dict)
    return None if said is None else said.get(name)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


_RULES: Mapping[Ability, Callable[[TevalTask, str, Similarity], float | None]] = {
    "instruct": _instruct,
    "plan": _plan,
    "reason": _reason,
    "retrieve": _retrieve,
    "understand": _understand,
    "review": _review,
}
