"""How an agent episode scores: where its worlds ended, and how many milestones it passed on the way.

The published rule compares the attributes of each class with the reference's: members of an object must
equal the reference's where it has them, anything else must be equal. A reference under a misspelt class
name is compared with nothing, which is so upstream too. Milestones are looked for in order; the published
search compares texts letter by letter, though some milestones quote an apostrophe inside apostrophes,
and loses all later ones with the first that is missing. Here quotes and blanks are left out of the
comparison, and a missing milestone costs itself only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from stages.evaluate.acebench.calls import Call, write_calls
from stages.evaluate.acebench.data import AgentTask
from stages.evaluate.acebench.world import ScenarioCode, World
from stages.evaluate.benchmark import Score
from stages.records import EpisodeRecord, Json

_UNSPOKEN = re.compile(r"""[\s'"\\]""")


def score_agent(code: ScenarioCode, task: AgentTask, episode: EpisodeRecord) -> Score:
    """The verdict on an episode, from its calls replayed in a fresh world.

    `process_thousandths` is the share of milestones passed, of a thousand; an episode that ends as it
    should has all of them.
    """
    world = World(code, task)
    steps: list[str] = []
    for _, calls in groupby(episode.calls, key=lambda call: call.position):
        made = [Call(call.name, call.arguments) for call in calls if call.arguments is not None]
        for name, arguments in made:
            world.call(name, arguments)
        steps.append(_bare(write_calls(made)))
    fault = end_fault(world.state(), task.end) if any(call.executed for call in episode.calls) else "no_call"
    share = max(progress(steps, path) for path in task.milestones) if fault else 1.0
    return Score(not fault, fault, {"process_thousandths": round(1000 * share)})


def end_fault(state: Mapping[str, Mapping[str, Any]], end: Mapping[str, Mapping[str, Json]]) -> str:
    """Why a final state is not the reference's, or nothing if it is."""
    if len(state) != len(end):
        return "classes"
    for name, attributes in state.items():
        wanted = end.get(name)
        if wanted is None:
            continue
        for attribute, value in attributes.items():
            if attribute not in wanted or not _matches(value, wanted[attribute]):
                return f"{name}.{attribute}"
    return ""


def progress(steps: Sequence[str], path: Sequence[str]) -> float:
    """The share of a path's milestones found in order among the steps; 1 if it has none."""
    at = found = 0
    for stone in map(_bare, path):
        if stone in steps[at:]:
            at = steps.index(stone, at) + 1
            found += 1
    return found / len(path) if path else 1.0


def _matches(value: Any, wanted: Json) -> bool:
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(name in value and value[name] == part for name, part in wanted.items())
    return bool(value == wanted)


def _bare(text: str) -> str:
    return _UNSPOKEN.sub("", text)
