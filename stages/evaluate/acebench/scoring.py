"""The verdict on a task's replies, ours and the published text path's side by side.

Ours scores parsed calls. The published path first deletes all white space of a reply and then parses what
is left, so that a list of phrases inside an object no longer equals itself: it fails 69 of its own 823
English references. Its verdict is counted beside ours and never decides a pass. So is whether the calls
equal a reference value by value, since the published rule doesn't compare numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from stages.evaluate.acebench.calls import Call, UnreadableError, read_calls
from stages.evaluate.acebench.checker import call_fault, equal_calls
from stages.evaluate.acebench.data import SPECIAL, Item, Task
from stages.evaluate.acebench.rendering import Reading, Rendering, reading_of
from stages.evaluate.acebench.special import published_fault, special_fault
from stages.evaluate.benchmark import Score
from stages.records import EpisodeRecord, Message


def score_task(task: Task, episode: EpisodeRecord, rendering: Rendering) -> Score:
    """Score every item of a task from the replies in its record.

    The counts are `items`, and how many of them passed (`items_passed`), pass by the published text path
    (`published_items`) and equal a reference (`items_equal`); `published_tasks` is 1 if the whole task
    passes by the published path.
    """
    counts: Counter[str] = Counter(items=len(task.items))
    reasons: list[str] = []
    for item, reply in zip(task.items, replies_of(episode), strict=True):
        reading = reading_of(reply, rendering)
        fault = item_fault(task.category, item, reading)
        if fault:
            reasons.append(fault if len(task.items) == 1 else f"{item.id}: {fault}")
        counts["items_passed"] += not fault
        counts["published_items"] += published_passes(task.category, item, reading.text)
        counts["items_equal"] += any(equal_calls(reading.calls or (), gold) for gold in item.gold())
    counts["published_tasks"] = int(counts["published_items"] == len(task.items))
    return Score(not reasons, reasons[0] if reasons else "", dict(counts))


def replies_of(episode: EpisodeRecord) -> list[Message]:
    """The model's own messages in a record; its other assistant messages are history."""
    positions = episode.extra["replies"]
    assert isinstance(positions, list)
    return [episode.messages[position] for position in positions if isinstance(position, int)]


def item_fault(category: str, item: Item, reading: Reading) -> str:
    """Why a reply does not pass, or nothing if it does."""
    for special in SPECIAL:
        if special == category:
            return special_fault(special, reading.text, len(reading.calls or ()), item.faults)
    if reading.calls is None:
        return "unreadable"
    return _first_fault(reading.calls, item.gold(), item)


def published_passes(category: str, item: Item, text: str) -> bool:
    """Whether a reply's text passes by the published path."""
    for special in SPECIAL:
        if special == category:
            return not published_fault(special, text, item.faults)
    try:
        calls = read_calls("".join(text.split()))
    except UnreadableError:
        return False
    return not _first_fault(calls, item.published_gold(), item)


def _first_fault(calls: Sequence[Call], answers: Sequence[Sequence[Call]], item: Item) -> str:
    """The fault against the first reference, or nothing if any reference passes."""
    schemas: Mapping[str, Mapping[str, object]] = item.schemas
    faults = [call_fault(calls, answer, schemas) for answer in answers]
    return faults[0] if all(faults) else ""
