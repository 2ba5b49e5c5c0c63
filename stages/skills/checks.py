"""The items of a checklist that calls are checked by: each a question to the trace, with the score where it fails.

The scale is SCRIBE's: 3 rigorous, 2 a minor slip, 1 a major gap, 0 wrong or premature. A subgoal scores 3 minus
nothing: it starts at 3, and an item that fails caps it. An item that doesn't apply says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from servers.kernel.errors import KernelFault
from stages.records import ExecutedCall
from stages.reward.equality import values_equal
from stages.skills import answers
from stages.skills.decompose import Skill, Subgoal
from stages.skills.facts import identifiers
from stages.skills.scene import OWN_FAULTS, Scene, is_empty
from stages.validate.sources import occurs

Question: TypeAlias = Callable[[Scene, Subgoal], bool | None]
"""True: as it should be; False: not so; None: the question does not arise."""

RIGOROUS = 3

_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Check:
    """One item: its question in words, the mistake where it fails, and the most that a subgoal then scores."""

    name: str
    cap: int
    told: str
    mistake: str
    question: Question


def known_tool(scene: Scene, subgoal: Subgoal) -> bool | None:
    """Every call names a tool that there is, and can be read."""
    return all(scene.tool(index) is not None for index in subgoal.calls) if subgoal.calls else None


def identifiers_known(scene: Scene, subgoal: Subgoal) -> bool | None:
    """No identifier and no secret is invented."""
    return _no(scene.invented(subgoal, "identifier"))


def values_given(scene: Scene, subgoal: Subgoal) -> bool | None:
    """No value that a change requires is invented."""
    return _no(scene.invented(subgoal, "value"))


def search_given(scene: Scene, subgoal: Subgoal) -> bool | None:
    """What is looked for was mentioned."""
    return _no(scene.invented(subgoal, "search"))


def options_asked_for(scene: Scene, subgoal: Subgoal) -> bool | None:
    """A change takes no option that nobody asked for."""
    return _no(scene.invented(subgoal, "option"))


def read_first(scene: Scene, subgoal: Subgoal) -> bool | None:
    """An identifier that was not found had at least been shown by a read."""
    verdicts = [_was_shown(scene, index) for index in subgoal.calls if scene.calls[index].error_code == _NOT_FOUND]
    return all(verdicts) if verdicts else None


def accepted(scene: Scene, subgoal: Subgoal) -> bool | None:
    """No call fails by its own fault, unless a later one of the subgoal makes it good."""
    if not subgoal.calls:
        return None
    own = [index for index in subgoal.calls if scene.calls[index].error_code in OWN_FAULTS]
    if subgoal.skill == "recover":
        own = [index for index in own if index in scene.unresolved]
    return not own


def state_ready(scene: Scene, subgoal: Subgoal) -> bool | None:
    """What the state refused could not have been prepared: no later call of the tool succeeds after a change."""
    refused = [n for n in subgoal.calls if not scene.calls[n].ok and scene.calls[n].error_code not in OWN_FAULTS]
    refused = [n for n in refused if scene.is_change(n)]
    if not refused:
        return None
    return not any(
        later.ok and later.name == scene.calls[n].name and scene.changed_between(n, m)
        for n in refused
        for m, later in enumerate(scene.calls)
        if m > n
    )


def no_blind_repeat(scene: Scene, subgoal: Subgoal) -> bool | None:
    """No call that failed is made again unchanged, unless the state changed in between."""
    if not subgoal.calls:
        return None
    return not any(
        scene.keys[n] == scene.keys[m] and not scene.calls[m].ok and not scene.changed_between(m, n)
        for n in subgoal.calls
        for m in range(n)
    )


def no_second_change(scene: Scene, subgoal: Subgoal) -> bool | None:
    """No change is made twice."""
    changes = [n for n in subgoal.calls if scene.is_change(n) and scene.calls[n].ok]
    return not any(_done_before(scene, n) for n in changes) if changes else None


def no_needless_read(scene: Scene, subgoal: Subgoal) -> bool | None:
    """Nothing is read again that can't have changed."""
    reads = [n for n in subgoal.calls if not scene.is_change(n) and scene.calls[n].ok]
    return not any(_done_before(scene, n) and not _changed_since(scene, n) for n in reads) if reads else None


def found_at_once(scene: Scene, subgoal: Subgoal) -> bool | None:
    """A lookup that finds nothing is not followed by a wider one of the same tool that does."""
    empty = [n for n in subgoal.calls if scene.calls[n].ok and is_empty(scene.calls[n])]
    if not subgoal.calls:
        return None
    return not any(
        later.ok and later.name == scene.calls[n].name and not is_empty(later)
        for n in empty
        for later in scene.calls[n + 1 :]
    )


def chosen_for_a_reason(scene: Scene, subgoal: Subgoal) -> bool | None:
    """Of several things that a read showed, a change takes one that the user's words point to."""
    verdicts = [_pointed_to(scene, index) for index in subgoal.calls if scene.is_change(index)]
    known = [verdict for verdict in verdicts if verdict is not None]
    return all(known) if known else None


def recovered(scene: Scene, subgoal: Subgoal) -> bool | None:
    """The last call of a recovery succeeds."""
    return scene.calls[subgoal.calls[-1]].ok if subgoal.skill == "recover" else None


def error_addressed(scene: Scene, subgoal: Subgoal) -> bool | None:
    """A corrected call changes what the error complained of, where it names an argument or a value."""
    if subgoal.skill != "recover":
        return None
    for n in subgoal.calls:
        failed = next((m for m in range(n - 1, -1, -1) if scene.calls[m].name == scene.calls[n].name), None)
        if failed is None or scene.calls[failed].ok or scene.changed_between(failed, n):
            continue
        blamed = _blamed(scene.calls[failed])
        if blamed and not blamed & _changed_arguments(scene.calls[failed], scene.calls[n]):
            return False
    return True


_NOT_FOUND = KernelFault.NOT_FOUND


def _no(invented: bool | None) -> bool | None:
    return None if invented is None else not invented


def _was_shown(scene: Scene, index: int) -> bool:
    tool, call = scene.tool(index), scene.calls[index]
    if tool is None:
        return True
    opaque = [p.name for p in tool.parameters if p.entity and not p.natural]
    given = identifiers(tool, {name: value for name, value in (call.arguments or {}).items() if name in opaque})
    shown = scene.knowledge.results_before(call.position)
    return all(any(source.has(value) for source in shown) for value in given)


def _done_before(scene: Scene, index: int) -> bool:
    return any(scene.keys[m] == scene.keys[index] and scene.calls[m].ok for m in range(index))


def _changed_since(scene: Scene, index: int) -> bool:
    last = max(m for m in range(index) if scene.keys[m] == scene.keys[index])
    return scene.changed_between(last, index)


def _pointed_to(scene: Scene, index: int) -> bool | None:
    """None where no list of the turn shows the thing among others."""
    call, tool = scene.calls[index], scene.tool(index)
    if tool is None:
        return None
    said = set(_WORD.findall(scene.asked.casefold()))
    for value in identifiers(tool, call.arguments):
        shown = next(
            (c.result for c in scene.calls[:index] if c.ok and value in c.result and '"items":[' in c.result), ""
        )
        item = _item_with(value, shown) if shown else None
        if item is not None and not said & set(_WORD.findall(item.casefold())):
            return False
    return True


def _item_with(value: str, result: str) -> str | None:
    """The item of a list of several that holds a value, as text."""
    try:
        items: Any = json.loads(result)["items"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(items, list) or len(items) < 2:
        return None
    return next((text for text in map(str, items) if value in text), None)


def _blamed(failed: ExecutedCall) -> set[str]:
    """The arguments that an error names, by name or by value."""
    text = failed.result.casefold()
    return {
        name
        for name, value in (failed.arguments or {}).items()
        if occurs(name.casefold(), text)
        or (isinstance(value, str) and len(value) > 1 and occurs(value.casefold(), text))
    }


def _changed_arguments(failed: ExecutedCall, again: ExecutedCall) -> set[str]:
    before, after = failed.arguments or {}, again.arguments or {}
    return {
        name
        for name in {*before, *after}
        if name not in before or name not in after or not values_equal(before[name], after[name], strict=True)
    }


def _check(cap: int, question: Question, mistake: str) -> Check:
    told = (question.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return Check(question.__name__, cap, told, mistake, question)


CHECKS: Mapping[str, Check] = {
    check.name: check
    for check in (
        _check(0, known_tool, "calls what is no tool"),
        _check(0, identifiers_known, "invents an identifier or a secret"),
        _check(0, values_given, "invents a value that a change requires"),
        _check(1, search_given, "looks for what nobody mentioned"),
        _check(2, options_asked_for, "adds an option that nobody asked for"),
        _check(0, read_first, "takes a name for an identifier"),
        _check(1, accepted, "makes a call that fails by its own fault"),
        _check(1, state_ready, "does first what has to come second"),
        _check(0, no_blind_repeat, "repeats a failed call unchanged"),
        _check(0, no_second_change, "makes a change twice"),
        _check(2, no_needless_read, "reads the same again"),
        _check(2, found_at_once, "searches too narrowly at first"),
        _check(1, chosen_for_a_reason, "takes one of several without a reason"),
        _check(1, recovered, "does not recover"),
        _check(2, error_addressed, "changes what the error did not complain of"),
        _check(0, answers.answered, "ends without words"),
        _check(0, answers.claims_backed, "claims what was not done"),
        _check(0, answers.failures_told, "hides a failure"),
        _check(0, answers.figures_shown, "tells figures that nobody showed"),
        _check(1, answers.asks_something, "asks for nothing in particular"),
        _check(0, answers.not_yet_said, "asks for what was said"),
        _check(0, answers.not_asked_before, "asks the same again"),
        _check(0, answers.no_tool_fits, "declines what a tool does"),
        _check(1, answers.tried, "gives up too soon"),
    )
}
"""Every item, by name."""

GENERIC = ("known_tool", "identifiers_known", "values_given", "accepted", "no_blind_repeat", "answered")
"""The rubric for a subgoal that is like no prototype."""

_CALLS = (*GENERIC[:-1], "search_given", "no_needless_read", "found_at_once", "read_first")
_CHANGES = (*GENERIC[:-1], "read_first", "options_asked_for", "state_ready", "no_second_change", "chosen_for_a_reason")

CHECKLISTS: Mapping[Skill, tuple[str, ...]] = {
    "look_up": _CALLS,
    "inspect": _CALLS,
    "read_before_write": _CALLS,
    "verify": _CALLS,
    "change_state": _CHANGES,
    "recover": tuple(dict.fromkeys((*_CALLS, *_CHANGES, "recovered", "error_addressed"))),
    "misfire": GENERIC[:-1],
    "ask": ("answered", "asks_something", "not_yet_said", "not_asked_before"),
    "decline": ("answered", "no_tool_fits", "tried", "figures_shown"),
    "report": ("answered", "claims_backed", "failures_told", "figures_shown"),
}
"""What success looks like for each skill."""
