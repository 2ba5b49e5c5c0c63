"""Origins of values as the viewer finds them: those of validation, and an answer for what validation refuses."""

from __future__ import annotations

import pytest

from stages.conversations import Conversation
from stages.report.viewer.events import Timeline
from stages.report.viewer.origins import ToolFacts, Tracer
from stages.validate.provenance import trace
from stages.validate.reasons import Rejection
from tests.stages.report.made import CATALOG, conversation

FACTS = {
    "find": ToolFacts(
        {
            "query": {},
            "limit": {"default": 5},
            "sort": {"enum": ["a", "b"]},
            "unread_only": {},
            "pin": {"x-sensitive": True},
        },
        True,
    ),
    "send": ToolFacts({"to": {}, "urgent": {}, "copies": {"default": 1}, "sort": {"enum": ["a", "b"]}}, False),
}


@pytest.fixture
def tracer() -> Tracer:
    made = Tracer(FACTS)
    made.user(0, "Find Ada and send her 25 notes, urgent. My code is 0417X.")
    made.result(2, '{"id":"P-1","name":"Ada Lovelace"}', "find", failed=False)
    made.result(3, '{"error":{"code":"not_found","message":"no Q-9"}}', "find", failed=True)
    return made


@pytest.mark.parametrize(
    ("tool", "name", "value", "origin"),
    [
        ("find", "query", "ada", ("user", 0)),
        ("send", "to", "P-1", ("result", 2)),
        ("send", "to", "Q-9", ("nowhere", -1)),  # an error repeats what was made up
        ("send", "copies", 25, ("user", 0)),
        ("send", "copies", 1, ("default", -1)),
        ("send", "urgent", True, ("user", 0)),
        ("find", "unread_only", True, ("choice", -1)),
        ("find", "sort", "b", ("choice", -1)),
        ("send", "sort", "b", ("nowhere", -1)),
        ("find", "limit", 50, ("choice", -1)),
        ("find", "pin", "0417X", ("user", 0)),
        ("find", "pin", "0417x", ("nowhere", -1)),
        ("nothing", "at_all", "zzz", ("nowhere", -1)),
    ],
)
def test_each_kind_of_origin(tracer: Tracer, tool: str, name: str, value: str, origin: tuple[str, int]) -> None:
    assert list(tracer.origins(tool, {name: value})) == [(name, value, origin)]


def test_a_value_is_found_once_it_is_shown(tracer: Tracer) -> None:
    assert next(tracer.origins("send", {"to": "P-7"}))[2] == ("nowhere", -1)
    tracer.result(5, '{"id":"P-7"}', "find", failed=False)
    assert next(tracer.origins("send", {"to": ["P-7"]})) == ("to[0]", "P-7", ("result", 5))
    tracer.user(6, "P-7 it is")
    assert next(tracer.origins("send", {"to": "P-7"}))[2] == ("user", 6)


def test_the_viewer_agrees_with_validation() -> None:
    told: Conversation = conversation(0, "nothing else")
    recorded = trace(CATALOG, told)
    assert not isinstance(recorded, Rejection) and recorded
    facts = {
        name: ToolFacts(entry.tool.input_schema.get("properties", {}), entry.tool.read_only)
        for name, entry in CATALOG.entries.items()
    }
    timeline = Timeline(Tracer(facts))
    timeline.take(told.messages, 0, told.turns[0].calls)
    calls = [event for event in timeline.events if event["t"] == "call"]
    for item in recorded:
        found = {path: kind for path, _, kind, _ in calls[item.call]["arguments"]}
        assert found[item.argument] == item.source
