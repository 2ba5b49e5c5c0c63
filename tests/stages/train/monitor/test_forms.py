"""The form of one reply, by hand-made replies."""

from __future__ import annotations

import pytest

from stages.chat import parse_reply
from stages.train.monitor.control import Tags
from stages.train.monitor.forms import Shape, repetition, shape

TAGGED, BARE = Tags("<tool_call>", "</tool_call>"), Tags('{"name":', "")
BODY = '{"name": "pay", "arguments": {"to": "Zoë", "sum": -1.5, "now": true}}'
GOOD = f"<tool_call>{BODY}</tool_call>"


def looked_at(text: str, tags: Tags = TAGGED, *, cut: bool = False) -> Shape:
    return shape(parse_reply(text), text, tags, cut=cut)


@pytest.mark.parametrize(
    ("text", "form", "empty", "unterminated"),
    [
        (GOOD, "call", 0, 0),
        (f"Let me look.\n{GOOD}\n{GOOD}", "call", 0, 0),
        (f"<think>which <tool?</think>\n{GOOD}", "call", 0, 0),
        (f"<tool_call>\n{BODY}", "call", 0, 1),
        ('{"name": "pay", "arguments": {}}', "call", 0, 0),
        ("Done. 3 < 4 > 2, call me.", "response", 0, 0),
        ("I made a tool call.", "response", 0, 0),
        ("", "collapsed", 0, 0),
        (" \n", "collapsed", 0, 0),
        ("<think>hm</think>", "collapsed", 0, 0),
        ("<tool_call>", "collapsed", 1, 1),
        ("<tool_call>\n</tool_call>", "collapsed", 1, 0),
        ("Sure!<tool_call></tool_call><tool_call>", "collapsed", 2, 1),
        (f"<tool_call><tool_call>{BODY}</tool_call>", "polluted", 1, 1),
        (f"{GOOD}</tool_call>", "polluted", 0, 0),
        (f"tool_call>{BODY}", "polluted", 0, 0),
        ("Done <tool_call", "polluted", 0, 0),
        ("Done. </tool", "polluted", 0, 0),
        ("<tool_call>pay Zoë</tool_call>", "polluted", 0, 0),
        ('<tool_call>{"name": "pay"}</tool_call>', "polluted", 0, 0),
        ('<tool_call>{"name": "pay", "arguments": {"to": "Z', "polluted", 0, 1),
        (f"{GOOD}<tool_call>]</tool_call>", "polluted", 0, 0),
    ],
)
def test_replies_that_ended_themselves(text: str, form: str, empty: int, unterminated: int) -> None:
    assert looked_at(text) == Shape(form, empty, unterminated)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", range(1, len(GOOD)))
def test_a_call_that_was_cut_off_anywhere_is_a_call(end: int) -> None:
    found = looked_at(GOOD[:end], cut=True)
    assert (found.form, found.empty_calls) == ("call", 0)
    assert found.unterminated_calls == (len("<tool_call>") <= end)


@pytest.mark.parametrize("end", range(1, len(BODY) + 1))
def test_bare_json_that_was_cut_off_anywhere_is_a_call(end: int) -> None:
    found = looked_at(BODY[:end], BARE, cut=True)
    assert found.form == "call"
    assert found.unterminated_calls == (len(BARE.open) <= end < len(BODY))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("I will now", "response"),
        ("<think>first I", "response"),
        (f"{GOOD}\n<tool_call>", "call"),
        ("Look: <tool_call>", "call"),
        ("<tool_call></tool_call><tool_call>", "collapsed"),
        ("<tool_call>pay the", "polluted"),
        ('<tool_call>{"name": pay', "polluted"),
        (f"_call>{BODY}", "polluted"),
        ("", "collapsed"),
    ],
)
def test_a_cut_excuses_nothing_but_the_end(text: str, form: str) -> None:
    assert looked_at(text, cut=True).form == form


@pytest.mark.parametrize(
    ("text", "form", "unterminated"),
    [
        ('{"name": "pay", "parameters": {}}', "call", 0),
        ('{"name": "pay", "parameters": {', "polluted", 1),
        ('Sure: {"name": "pay", "parameters": {}}', "polluted", 0),
        ('It answered {"time": "now"}.', "response", 0),
        ("", "collapsed", 0),
    ],
)
def test_bare_json(text: str, form: str, unterminated: int) -> None:
    assert looked_at(text, BARE) == Shape(form, 0, unterminated)  # type: ignore[arg-type]


@pytest.mark.parametrize("body", ["[" * 100_000, '{"a":' * 100_000, "9" * 10_000])
@pytest.mark.parametrize("cut", [True, False])
def test_monstrous_bodies_are_data(body: str, cut: bool) -> None:
    assert looked_at(f"<tool_call>{body}", cut=cut).form in ("polluted", "call")
    assert looked_at(f'{{"name": "a", "parameters": {body}', BARE, cut=cut).form in ("polluted", "call")


def test_repetition_is_the_share_of_repeated_four_grams() -> None:
    assert repetition([1, 2, 3]) == repetition([1, 2, 3, 4, 5]) == 0
    assert repetition([7] * 8) == pytest.approx(4 / 5)
    assert repetition([1, 2, 3, 4, 1, 2, 3, 4]) == pytest.approx(1 / 5)
