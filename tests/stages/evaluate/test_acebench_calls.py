from __future__ import annotations

import keyword
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stages.evaluate.acebench.calls import MAX_LENGTH, Call, UnreadableError, read_calls, write_calls
from stages.records import Json


def test_calls_are_read_with_dotted_names_and_plain_values() -> None:
    lamp, songs = (
        "lamp.set(room='hall', level=-2.5, on=True)",
        """songs(names=["a", ('b', None)], more={'k': {'n': [1]}})""",
    )
    assert read_calls(f" [{lamp}, {songs}, off()]\n") == (
        Call("lamp.set", {"room": "hall", "level": -2.5, "on": True}),
        Call("songs", {"names": ["a", ["b", None]], "more": {"k": {"n": [1]}}}),
        Call("off", {}),
    )


def test_json_words_are_values_and_other_bare_words_are_text() -> None:
    assert read_calls("[f(a=true, b=false, c=null, d=dinner)]")[0].arguments == {
        "a": True,
        "b": False,
        "c": None,
        "d": "dinner",
    }


def test_a_line_break_inside_quotes_reads_as_a_space() -> None:
    assert read_calls("[f(a='one\ntwo',\n b=1)]") == (Call("f", {"a": "one two", "b": 1}),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f(a=1)",
        "Sure! [f(a=1)]",
        "```\n[f(a=1)]\n```",
        "['Missing necessary parameters (a) for the api (f)']",
        "[f('positional')]",
        "[f(**{'a': 1})]",
        "[f(*x)]",
        "[f(a=open('/etc/passwd'))]",
        "[f(a=__import__('os').system('id'))]",
        "[f(a=9**9**9)]",
        "[f(a='x' * 10)]",
        "[f(a=(lambda: 1)())]",
        "[f(a=[x for x in 'abc'])]",
        "[f(a=x.y)]",
        "[f(a={1: 2})]",
        "[f(a={**b})]",
        "[f(a=f'{1+1}')]",
        "[f(a=b'x')]",
        "[f(a=1j)]",
        "[f(a=...)]",
        "[f(a=1e999)]",
        "[f(a=-1e999)]",
        "[f(a=-x)]",
        "[f()()]",
        "[f[0](a=1)]",
        "[f(a=1, a=2)]",
        "[f(a=" + "[" * 40 + "]" * 40 + ")]",
        "[f(a=" + "[" * 5000 + ")]",
        "[f(a=" + "-" * 15_000 + "1)]",
        "[f(a=" + "9" * 15_000 + ")]",
        "[" + "x." * 9_000 + "y()" * 1_000,
        "[f(a='\0')]",
        "[f(a='\ud800",
        "x" * (MAX_LENGTH + 1),
    ],
)
def test_anything_else_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(UnreadableError) as refused:
        read_calls(text)
    assert 0 < len(str(refused.value)) < 300


VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))
CALLS = st.lists(st.builds(Call, NAMES, st.dictionaries(NAMES, VALUES, max_size=4)), max_size=4)


@given(CALLS)
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_back(calls: list[Call]) -> None:
    assert read_calls(write_calls(calls)) == tuple(calls)


PIECES = st.sampled_from(
    [
        *"[](){}'\",=.:*-+@~\\\n #\0",
        "f",
        "lambda:",
        "await ",
        "yield ",
        "if ",
        "for x in ",
        "not ",
        "1e999",
        "0x",
        "f'{",
        "b'",
    ]
)


@given(st.text(max_size=200) | st.lists(PIECES, max_size=300).map("".join))
@example("[f(a=" + "(" * 199 + "1" + ")" * 199 + ")]")
@example("[f(a=" + "not " * 4_000 + "1)]")
@example("[f(a=" + "1+" * 9_000 + "1)]")
@example("[f(a=1 " + "if 1 else 1 " * 1_500 + ")]")
@settings(max_examples=400, deadline=None)
def test_no_text_raises_anything_else_or_hangs(text: str) -> None:
    try:
        calls = read_calls(text)
    except UnreadableError:
        return
    for call in calls:
        assert isinstance(call.name, str)
        assert all(_plain(value) for value in call.arguments.values())


def _plain(value: Json) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(part) for key, part in value.items())
    if isinstance(value, list):
        return all(map(_plain, value))
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
