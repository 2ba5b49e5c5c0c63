"""From a trajectory to ⟨subgoal, skill, step⟩ (SCRIBE, arXiv 2601.03555): which calls served one purpose, and which.

A step is one call, or the message that ends the turn. A skill is the pattern that it follows, told by its tool, its
result and the calls around it. A subgoal is a run of steps of one skill, and its description, made for embedding,
names the skill, the tools and the error that was met, never a value. The paper's own decomposition is not public;
this one is a program, the same for the same trajectory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from stages.records import ExecutedCall
from stages.skills.facts import Facts, ToolFacts, identifiers
from stages.skills.trajectories import Trajectory

Skill: TypeAlias = Literal[
    "look_up",
    "inspect",
    "read_before_write",
    "change_state",
    "verify",
    "recover",
    "misfire",
    "ask",
    "decline",
    "report",
]

SKILLS: Mapping[Skill, str] = {
    "look_up": "look up an entity",
    "inspect": "inspect a known thing",
    "read_before_write": "read before writing",
    "change_state": "change the state",
    "verify": "verify the outcome",
    "recover": "recover from an error",
    "misfire": "call what can't be called",
    "ask": "ask for a missing value",
    "decline": "decline",
    "report": "report the result",
}

SEPARATOR = "; "
"""Between the parts of a description; its first part is the skill."""

MOST_TOOLS = 3
"""Tools that a description names at most."""

UNABLE = re.compile(
    r"\b(?:no tool|none of (?:my|the) tools|can(?:'|no)t|can not|could(?: not|n't)|unable|not able|"
    r"(?:don't|do not) have (?:a|any|the) tool|beyond the tools|needs? a tool|need a tool)",
    re.IGNORECASE,
)
"""Words by which an answer says that something can't be done."""

_ID = re.compile(r'"id":"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Subgoal:
    """A run of steps with one purpose.

    `calls` are indices into the trajectory's calls. `answer` says that the step is the message that ends the
    turn; the message may be missing, which leaves the subgoal undone.
    """

    skill: Skill
    text: str
    calls: tuple[int, ...] = ()
    answer: bool = False


def decompose(trajectory: Trajectory, facts: Facts) -> tuple[Subgoal, ...]:
    """The subgoals in order; the last one is always the turn's answer, so there is at least one."""
    calls = trajectory.calls
    skills = _skills(calls, facts)
    runs: list[list[int]] = []
    for index, skill in enumerate(skills):
        last = runs[-1][-1] if runs else None
        if last is not None and skills[last] == skill and _one_purpose(skill, calls[last], calls[index]):
            runs[-1].append(index)
        else:
            runs.append([index])
    found = [_of_calls(skills[run[0]], calls, tuple(run), facts) for run in runs]
    return (*found, _answer(trajectory, facts))


def is_unknown(call: ExecutedCall, facts: Facts) -> bool:
    """Whether a call names no tool that there is, or can't be read."""
    return call.arguments is None or call.error_code == "unknown_tool" or call.name not in facts


def _one_purpose(skill: Skill, last: ExecutedCall, call: ExecutedCall) -> bool:
    return skill != "change_state" or last.name == call.name


def _skills(calls: Sequence[ExecutedCall], facts: Facts) -> list[Skill]:
    recovering = _recovering(calls)
    out: list[Skill] = []
    for index, call in enumerate(calls):
        if index in recovering:
            out.append("recover")
        elif is_unknown(call, facts):
            out.append("misfire")
        elif not facts[call.name].read_only:
            out.append("change_state")
        else:
            out.append(_reading(calls, index, facts))
    return out


def _recovering(calls: Sequence[ExecutedCall]) -> set[int]:
    """The calls that answer an error.

    Those are all calls from the failure up to the first success of the same tool; if it never succeeds, up to its
    last try; and the next message's calls if the tool is given up.
    """
    found: set[int] = set()
    for index, failed in enumerate(calls):
        if failed.ok:
            continue
        later = [n for n in range(index + 1, len(calls)) if calls[n].position > failed.position]
        tries = [n for n in later if calls[n].name == failed.name]
        if tries:
            end = next((n for n in tries if calls[n].ok), tries[-1])
            found.update(n for n in later if n <= end)
        elif later:
            found.update(n for n in later if calls[n].position == calls[later[0]].position)
    return found


def _reading(calls: Sequence[ExecutedCall], index: int, facts: Facts) -> Skill:
    call, tool = calls[index], facts[calls[index].name]
    if _feeds_a_change(calls, index, facts):
        return "read_before_write"
    if any(_shows_change(earlier, call, facts) for earlier in calls[:index]):
        return "verify"
    return "inspect" if tool.needs else "look_up"


def _feeds_a_change(calls: Sequence[ExecutedCall], index: int, facts: Facts) -> bool:
    """Whether a later change takes an identifier that this result was the first to show."""
    call = calls[index]
    if not call.ok:
        return False
    for later in calls[index + 1 :]:
        tool = facts.get(later.name)
        if tool is None or tool.read_only or later.position <= call.position:
            continue
        for value in identifiers(tool, later.arguments):
            if value in call.result and not any(value in before.result for before in calls[:index] if before.ok):
                return True
    return False


def _shows_change(earlier: ExecutedCall, call: ExecutedCall, facts: Facts) -> bool:
    """Whether a read is about what an earlier call changed."""
    tool = facts.get(earlier.name)
    if tool is None or tool.read_only or not earlier.ok or earlier.position >= call.position:
        return False
    touched = {*identifiers(tool, earlier.arguments), *_ID.findall(earlier.result)}
    about = set(identifiers(facts[call.name], call.arguments))
    return bool(touched & about) or (not about and any(value in call.result for value in touched))


def _of_calls(skill: Skill, calls: Sequence[ExecutedCall], run: tuple[int, ...], facts: Facts) -> Subgoal:
    names = dict.fromkeys(calls[n].name for n in run)
    tools = tuple(facts[name] for name in names if name in facts)
    error = ""
    if skill == "recover":
        error = next((calls[n].error_code for n in range(run[0] - 1, -1, -1) if not calls[n].ok), "")
    elif skill == "misfire":
        error = calls[run[0]].error_code
    return Subgoal(skill, described(skill, tools, error), run)


def _answer(trajectory: Trajectory, facts: Facts) -> Subgoal:
    last = trajectory.messages[-1] if trajectory.messages else None
    names = dict.fromkeys(call.name for call in trajectory.calls if call.ok)
    tools = tuple(facts[name] for name in names if name in facts)
    failed = any(not call.ok for call in trajectory.calls)
    if last is None or last.role != "assistant" or last.tool_calls:
        return Subgoal("report", described("report", tools, "no answer"), answer=True)
    if UNABLE.search(last.content):
        why = "after an error" if failed else "the rest" if tools else "no tool fits"
        return Subgoal("decline", described("decline", tools, why), answer=True)
    if "?" in last.content:
        return Subgoal("ask", described("ask", tools, "after an error" if failed else ""), answer=True)
    return Subgoal("report", described("report", tools, "" if tools else "nothing done"), answer=True)


@lru_cache(maxsize=20_000)
def described(skill: Skill, tools: tuple[ToolFacts, ...], circumstance: str) -> str:
    """Skill and subgoal in a line without values, for embedding."""
    parts = [SKILLS[skill]]
    if circumstance:
        parts.append(circumstance.replace("_", " "))
    parts += [tool.name.replace("_", " ") for tool in tools[:MOST_TOOLS]]
    kinds = sorted({kind for tool in tools[:MOST_TOOLS] for kind in tool.needs})
    shown = sorted({kind for tool in tools[:MOST_TOOLS] if tool.read_only for kind in tool.produces - tool.needs})
    if skill not in ("report", "ask", "decline"):
        parts += [f"with {', '.join(kinds).replace('_', ' ')}"] if kinds else []
        parts += [f"to find {', '.join(shown).replace('_', ' ')}"] if shown else []
    servers = sorted({tool.server for tool in tools[:MOST_TOOLS]})
    parts += [f"in {', '.join(servers).replace('_', ' ')}"] if servers else []
    return SEPARATOR.join(parts)
