"""The reference answers as text in each task's own format, whole or with the last part left out.

The controls say them back: the whole ones must score 1, the cut ones less. What has parts, plans and
arguments, loses its last one; a thought, a name or a choice has none, and is left out altogether.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stages.evaluate.teval.data import TevalTask
from stages.evaluate.teval.plan import FINISH, Step, steps_of
from stages.records import Json


def gold_answer(task: TevalTask) -> str:
    """The reference answer."""
    return _written(task, _gold(task))


def cut_answer(task: TevalTask) -> str:
    """The reference answer without its last part; empty where there is but one."""
    gold = _gold(task)
    if task.ability == "plan":
        steps = [step for step in steps_of(task.gold) or () if step.name != FINISH][:-1]
        return _plan(task, steps) if steps else ""
    if task.ability in ("instruct", "understand") and gold["args"]:
        return _written(task, {**gold, "args": dict(list(gold["args"].items())[:-1])})
    return ""


def _gold(task: TevalTask) -> Mapping[str, Any]:
    return task.gold if isinstance(task.gold, dict) else {"answer": task.gold}


def _written(task: TevalTask, gold: Mapping[str, Any]) -> str:
    if task.ability == "plan":
        return _plan(task, steps_of(task.gold) or ())
    if task.ability == "instruct":
        return _instruct(task.template, gold) if task.format == "string" else _keyed(task.template, gold)
    if task.ability == "review":
        return _dumped({"answer": gold["answer"]}) if task.format == "json" else f"Answer: {gold['answer']}"
    if task.format == "json":
        return _dumped({name: gold[name] for name in ("thought", "name", "args") if name in gold})
    return str(gold[{"reason": "thought", "retrieve": "name", "understand": "args"}[task.ability]])


def _keyed(template: Mapping[str, str], gold: Mapping[str, Any]) -> str:
    parts: dict[str, Json] = {"thought": gold.get("thought", ""), "action": gold["action"], "args": gold["args"]}
    return _dumped({template.get(name, name): value for name, value in parts.items()})


def _instruct(template: Mapping[str, str], gold: Mapping[str, Any]) -> str:
    parts = {"thought": gold.get("thought", ""), "action": gold["action"], "args": gold["args"]}
    return "".join(f"{template.get(f'{n}_start', '')}{v}{template.get(f'{n}_end', '')}" for n, v in parts.items())


def _plan(task: TevalTask, steps: Sequence[Step]) -> str:
    if task.format == "json":
        return _dumped([{"id": i, "name": step.name, "args": step.arguments} for i, step in enumerate(steps)])
    named = [step for step in steps if step.name != FINISH]
    return "\n".join(f"Use {step.name} to {_one_sentence(step.arguments)}" for step in named)


def _one_sentence(text: str) -> str:
    return " ".join(text.replace(". ", " ").split())


def _dumped(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
