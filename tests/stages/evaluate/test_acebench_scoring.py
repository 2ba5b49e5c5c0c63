from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.evaluate.acebench.calls import Call, read_calls
from stages.evaluate.acebench.checker import call_fault, equal_calls
from stages.evaluate.acebench.data import Item, Task
from stages.evaluate.acebench.rendering import Rendering
from stages.evaluate.acebench.scoring import score_task
from stages.evaluate.acebench.special import Special, published_fault, reference_reply, special_fault
from stages.evaluate.benchmark import Score
from stages.records import EpisodeRecord, Json, Message, ToolCall
from tests.stages.evaluate.acebench_made_up import APIS, LAMP_CALL, SHOP_CALL, SONGS_CALL

SCHEMAS: Mapping[str, Mapping[str, Any]] = {api["name"]: api["parameters"] for api in APIS if "parameters" in api}


def fault(text: str, answer: Mapping[str, Mapping[str, Json]]) -> str:
    return call_fault(read_calls(text), [Call(*part) for part in answer.items()], SCHEMAS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[lamp.set(room='living room', level=40, on=True)]", ""),
        ("[lamp.set(room='The LIVING-room, please', level=40)]", ""),  # contained, and optional ones may lack
        ("[lamp.set(room='living room', level=41, on=False)]", ""),  # numbers and booleans are not compared
        ("[lamp.set(room='living room', on='true')]", ""),
        ("[lamp.set(room='living room', level=40.0)]", ""),  # another type, but equal
        ("[lamp.set(room='living room', level=40.5)]", "type"),
        ("[lamp.set(room='living room', level='40')]", "type"),
        ("[lamp.set(room='living room', on='yes')]", "type"),
        ("[lamp.set(room='kitchen')]", "value"),
        ("[lamp.set(level=40)]", "missing_argument"),
        ("[lamp.set()]", "missing_argument"),
        ("[lamp.set(room='living room', colour='red')]", "extra_argument"),
        ("[]", "call_count"),
        ("[lamp.set(room='living room'), lamp.set(room='living room')]", "call_count"),
        ("[lamp.dim(room='living room')]", "wrong_api"),
    ],
)
def test_scalars(text: str, expected: str) -> None:
    assert fault(text, LAMP_CALL) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[songs(names=['blue moon', 'So-What'])]", ""),
        ("[songs(names=['So What', 'Blue Moon'])]", "value"),
        ("[songs(names=['Blue Moon'])]", "value"),
        ("[songs(names=['Blue Moon tonight', 'So What'])]", "value"),  # equal, not contained
        ("[songs(names='Blue Moon, So What')]", "type"),
    ],
)
def test_lists_of_text(text: str, expected: str) -> None:
    assert fault(text, SONGS_CALL) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("items=[{'name': 'Oat milk', 'count': 2}], gift={'note': 'for ann!', 'tags': ['two words']}", ""),
        ("items=[{'name': 'oat milk', 'count': 12}]", ""),  # the printed form contains it
        ("items=[{'name': 'oat milk', 'count': 3}]", "value"),
        ("items=[{'name': 'oat milk'}]", "value"),
        ("items=[]", "value"),
        ("items=[{'name': 'oat milk', 'count': 2}, {'name': 'oat milk', 'count': 2}]", "value"),
        ("items=[{'name': 'oat milk', 'count': 2}], gift={'note': 'For Ann', 'tags': ['two']}", "value"),
        ("items=[{'name': 'oat milk', 'count': 2}], gift={'note': 'For Ann', 'tags': ['two words'], 'x': 1}", "value"),
        ("items=[{'name': 'oat milk', 'count': 2}], gift='For Ann'", "type"),
        ("items={'name': 'oat milk', 'count': 2}", "type"),
    ],
)
def test_objects_short_and_deep(arguments: str, expected: str) -> None:
    assert fault(f"[shop_order({arguments})]", SHOP_CALL) == expected


def test_an_empty_list_or_object_as_reference_fits_nothing_as_published() -> None:
    assert fault("[songs(names=[])]", {"songs": {"names": []}}) == "type"
    assert fault("[shop_order(items=[{'a': 1}], gift={})]", {"shop_order": {"items": [{"a": 1}], "gift": {}}}) == "type"


def test_a_reference_that_departs_from_the_documentation_is_compared_by_type_alone() -> None:
    answer = {"lamp.set": {"room": 7}}
    assert fault("[lamp.set(room=8)]", answer) == ""
    assert fault("[lamp.set(room='anywhere')]", answer) == ""
    assert fault("[lamp.set(room=[8])]", answer) == "type"


def test_an_unknown_documented_type_is_named() -> None:
    with pytest.raises(ValueError, match="type 'colour'"):
        call_fault([Call("f", {"a": 1})], [Call("f", {"a": 1})], {"f": {"properties": {"a": {"type": "colour"}}}})


def test_parallel_calls_come_in_any_order() -> None:
    gold = [Call("songs", {"names": ["a"]}), Call("lamp.set", {"room": "hall"}), Call("songs", {"names": ["b"]})]
    assert call_fault(gold, gold, SCHEMAS) == call_fault(gold[::-1], gold, SCHEMAS) == ""
    assert call_fault([gold[0], gold[1], gold[0]], gold, SCHEMAS) == "value"
    assert call_fault([gold[0], gold[1], gold[1]], gold, SCHEMAS) == "wrong_api"


def test_equality_looks_at_numbers_booleans_and_absent_arguments() -> None:
    gold = [Call(*part) for part in LAMP_CALL.items()]
    assert equal_calls(read_calls("[lamp.set(room='living room', level=40.0, on=True)]"), gold)
    for text in (
        "[lamp.set(room='living room', level=41, on=True)]",
        "[lamp.set(room='living room', level=40, on=1)]",
        "[lamp.set(room='living room', level=40)]",
        "[]",
    ):
        assert not equal_calls(read_calls(text), gold)
    assert not equal_calls([*gold, *gold], gold)


@pytest.mark.parametrize(
    ("category", "reply", "expected"),
    [
        ("special_incomplete", '["Missing necessary parameters (room, level) for the api (lamp.set)"]', ""),
        ("special_incomplete", '["Missing necessary parameters (room) for the api (lamp.set)"]', "not_named"),
        ("special_incomplete", '["Missing necessary parameters (room, level)"]', "not_named"),
        ("special_incomplete", "Which room do you mean, and what level for lamp.set?", "not_detected"),
        ("special_error_param", '["There is incorrect value (very bright) for the parameters (level)"]', ""),
        ("special_error_param", '["There is incorrect value (bright)"]', "not_named"),
        ("special_irrelevant", "Sorry: the limitations of the function.", ""),
        ("special_irrelevant", "I can't.", "not_detected"),
        ("special_irrelevant", "", "not_detected"),
    ],
)
def test_special_replies(category: Special, reply: str, expected: str) -> None:
    faults = {
        "special_incomplete": {"lamp.set": ["room ", " level"]},
        "special_error_param": {"level": ["very bright"]},
        "special_irrelevant": {},
    }[category]
    assert special_fault(category, reply, 0, faults) == expected
    assert special_fault(category, reply, 1, faults) == "called"
    assert special_fault(category, reference_reply(category, faults), 0, faults) == ""


def test_the_published_rule_counts_the_blanks_around_a_reference() -> None:
    reply = '["Missing necessary parameters (level, room) for the api (lamp.set)"]'
    assert published_fault("special_incomplete", reply, {"lamp.set": ["room ", " level"]}) == "not_named"
    assert special_fault("special_incomplete", reply, 0, {"lamp.set": ["room ", " level"]}) == ""


def scored(category: str, answer: Any, reply: Message, rendering: Rendering = "native", **faults: list[str]) -> Score:
    item = Item(f"{category}_0", "user: Go.\n", "", "", tuple(APIS), answer, faults)
    record = EpisodeRecord((Message("system", ""), reply), (), "", "answered", {"replies": [1]})
    return score_task(Task(item.id, category, (item,)), record, rendering)


def test_the_published_text_path_fails_where_white_space_decides() -> None:
    reply = Message(
        "assistant",
        "[shop_order(items=[{'name': 'oat milk', 'count': 2}], gift={'note': 'For Ann', 'tags': ['two words']})]",
    )
    score = scored("normal_atom_object_deep", (SHOP_CALL,), reply)
    assert score.passed
    assert score.counts == {
        "items": 1,
        "items_passed": 1,
        "items_equal": 1,
        "published_items": 0,
        "published_tasks": 0,
    }
    plain = Message("assistant", "[shop_order(items=[{'name': 'oat milk', 'count': 2}])]")
    assert scored("normal_atom_object_deep", (SHOP_CALL,), plain).counts["published_items"] == 1


def test_any_of_several_references_is_enough() -> None:
    answers = (LAMP_CALL, {"lamp.set": {"room": "hall"}})
    assert scored("normal_atom_bool", answers, Message("assistant", "[lamp.set(room='hall')]")).passed
    assert scored("normal_atom_bool", answers, Message("assistant", "[lamp.set(room='attic')]")).reason == "value"


def test_an_api_whose_own_name_ends_in_a_number_keeps_it() -> None:
    apis = [{**APIS[2], "name": "songs_2"}]
    item = Item("normal_similar_api_0", "user: Go.\n", "", "", tuple(apis), ({"songs_2": SONGS_CALL["songs"]},))
    reply = Message("assistant", "[songs_2(names=['Blue Moon', 'So What'])]")
    record = EpisodeRecord((reply,), (), "", "answered", {"replies": [0]})
    score = score_task(Task(item.id, "normal_similar_api", (item,)), record, "native")
    assert (score.passed, score.counts["published_items"]) == (True, 0)


def test_a_call_in_the_other_rendering_is_not_counted() -> None:
    called = Message("assistant", "", (ToolCall("c", "lamp.set", {"room": "living room"}),))
    written = Message("assistant", "[lamp.set(room='living room')]")
    assert scored("normal_atom_bool", (LAMP_CALL,), called, "native").reason == "unreadable"
    assert scored("normal_atom_bool", (LAMP_CALL,), written, "training").reason == "call_count"
    both = Message("assistant", written.content, called.tool_calls)
    assert scored("normal_atom_bool", (LAMP_CALL,), both, "native").reason == "unreadable"
    assert scored("normal_atom_bool", (LAMP_CALL,), called, "training").passed
    assert scored("normal_atom_bool", (LAMP_CALL,), written, "native").passed


def test_a_tool_call_that_could_not_be_read_fails_the_item() -> None:
    good = ToolCall("a", "lamp.set", {"room": "living room"})
    broken = ToolCall("b", "lamp.set", None, raw="{", error="not JSON")
    assert scored("normal_atom_bool", (LAMP_CALL,), Message("assistant", "", (good, broken)), "training").reason == (
        "unreadable"
    )


def test_phrases_hidden_in_a_call_are_not_a_refusal() -> None:
    reply = Message("assistant", "[lamp.set(room='the limitations of the function')]")
    score = scored("special_irrelevant", (), reply)
    assert (score.reason, score.counts["published_items"]) == ("called", 1)


MESSAGES = st.builds(
    Message,
    st.just("assistant"),
    st.text(max_size=60) | st.sampled_from(["[lamp.set(room={'a': [1]})]", "[songs(names=[[[]]], genre=null)]"]),
    st.lists(
        st.builds(
            ToolCall,
            st.just("c"),
            st.sampled_from(["lamp.set", "songs", "shop_order", "nothing"]),
            st.none()
            | st.dictionaries(
                st.sampled_from(["room", "level", "on", "items", "gift", "names", "genre", "x y"]),
                st.recursive(
                    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "true", "jazz"]),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
                    max_leaves=6,
                ),
                max_size=3,
            ),
        ),
        max_size=2,
    ).map(tuple),
)


@given(MESSAGES, st.sampled_from(["native", "training"]), st.sampled_from([LAMP_CALL, SHOP_CALL, SONGS_CALL]))
@settings(max_examples=300, deadline=None)
def test_no_reply_breaks_the_scorer(reply: Message, rendering: Rendering, answer: Any) -> None:
    for category in ("normal_atom_list", "special_incomplete"):
        first = scored(category, (answer,), reply, rendering, room=["level"])
        assert first == scored(category, (answer,), reply, rendering, room=["level"])
        assert first.passed == (first.counts["items_passed"] == 1)
