"""The teacher's opinion: which pairs it is asked about, and what is made of its answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from servers.kernel.server import ToolServer
from stages.discover import judged
from stages.discover.claims import Claim
from stages.discover.edges import Edge
from stages.discover.judged import LONGEST_REASON, Opinion, judge, merge, one_line
from stages.params import DiscoverParams
from stages.teacher.cache import Cache
from stages.teacher.client import Teacher
from stages.teacher.errors import Failure, TeacherError
from tests.stages.discover.asking import Asked, Voice, by_reading, everything_is, verdict
from tests.stages.discover.house import house

TOOLS = 9
PAIRS = math.comb(TOOLS, 2)


async def ask(voice: Voice, size: int = 20, server: ToolServer | None = None, cache: Cache | None = None) -> Opinion:
    params = DiscoverParams(pairs_per_request=size)
    return await judge(cast(Teacher, voice), server or house(), params, cache)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with closing(Cache(tmp_path / "teacher.sqlite")) as opened:
        yield opened


def names(pairs: Asked) -> list[frozenset[str]]:
    return [frozenset((pair["first"]["name"], pair["second"]["name"])) for pair in pairs]


def described(description: str) -> ToolServer:
    """The house, with one tool that says something else of itself."""
    server = house()
    server.tools["open_door"].description = description
    return server


async def test_the_teacher_is_asked_about_every_pair_once() -> None:
    voice = Voice(by_reading)
    opinion = await ask(voice, 5)
    pairs = [pair for request in voice.asked for pair in names(request)]
    assert len(pairs) == len(set(pairs)) == PAIRS and max(map(len, voice.asked)) == 5
    labels = {claim.pair: claim.label for claim in opinion.claims}
    assert labels["list_rooms", "enter_room"] == "explicit" and ("enter_room", "list_rooms") not in labels
    assert (opinion.asked, len(voice.asked), opinion.unanswered) == (PAIRS, 8, [])


@pytest.mark.parametrize("size", [3, 20])
async def test_a_changed_tool_costs_its_own_pairs_and_no_others(tmp_path: Path, cache: Cache, size: int) -> None:
    first = await ask(Voice(everything_is("explicit")), size, cache=cache)
    silent = Voice(everything_is("none"))
    with closing(Cache(tmp_path / "teacher.sqlite")) as reopened:
        again = await ask(silent, size, cache=reopened)
    assert silent.asked == [] and again.asked == 0
    assert sorted(again.claims, key=str) == sorted(first.claims, key=str)
    later = Voice(everything_is("none"))
    changed = await ask(later, size, described("Open a door, or leave it."), cache)
    assert len(later.asked) == math.ceil((TOOLS - 1) / size) and changed.asked == TOOLS - 1
    asked = [pair for request in later.asked for pair in names(request)]
    assert len(asked) == TOOLS - 1 and all("open_door" in pair for pair in asked)
    assert {claim.label for claim in changed.claims if "open_door" in claim.pair} == {"none"}
    assert {claim.label for claim in changed.claims if "open_door" not in claim.pair} == {"explicit"}


async def test_a_changed_schema_counts_as_a_change_and_the_order_of_tools_does_not(cache: Cache) -> None:
    await ask(Voice(everything_is("none")), cache=cache)
    server = house()
    server.tools = dict(reversed(server.tools.items()))
    assert (await ask(Voice(everything_is("none")), server=server, cache=cache)).asked == 0
    schema = server.tools["cut_key"].input_schema
    schema["properties"]["door_id"]["maxLength"] = 9
    assert (await ask(Voice(everything_is("none")), server=server, cache=cache)).asked == TOOLS - 1


async def test_another_model_temperature_or_prompt_is_asked_anew(monkeypatch: pytest.MonkeyPatch, cache: Cache) -> None:
    none = everything_is("none")
    await ask(Voice(none), cache=cache)
    assert (await ask(Voice(none, model="test/other"), cache=cache)).asked == PAIRS
    assert (await ask(Voice(none, temperature=0.2), cache=cache)).asked == PAIRS
    assert (await ask(Voice(none), cache=cache)).asked == 0
    monkeypatch.setattr(judged, "PROMPT", judged.PROMPT + "Think twice.")
    assert (await ask(Voice(none), cache=cache)).asked == PAIRS


async def test_what_an_answer_leaves_out_is_asked_once_more() -> None:
    def forgetful(pairs: Asked) -> str:
        return json.dumps(
            [verdict(pair, "explicit") for pair in pairs if len(pairs) < 20 or "open_door" not in str(pair)]
        )

    voice = Voice(forgetful)
    opinion = await ask(voice, 100)
    assert [len(request) for request in voice.asked] == [PAIRS, TOOLS - 1]
    assert all("open_door" in pair for pair in names(voice.asked[1]))
    assert (len(opinion.claims), opinion.unanswered) == (PAIRS, [])


async def test_what_stays_unanswered_is_counted_and_asked_again_another_time(cache: Cache) -> None:
    stubborn = Voice(lambda pairs: json.dumps([verdict(p, "none") for p in pairs if "cut_key" not in str(p)]))
    opinion = await ask(stubborn, 100, cache=cache)
    assert [len(request) for request in stubborn.asked] == [PAIRS, TOOLS - 1]
    assert len(opinion.unanswered) == TOOLS - 1 and all("cut_key" in pair for pair in opinion.unanswered)
    assert len(opinion.claims) == PAIRS - (TOOLS - 1)
    assert (await ask(Voice(everything_is("none")), cache=cache)).asked == TOOLS - 1


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (
            '[{"first": "a", "second": "b", "label": "maybe", "direction": "forward"}]',
            "Input should be 'explicit' or 'implicit'",
        ),
        ("I can't say.", "it holds no JSON list of objects"),
        ('[{"first": "a", "second": "b", "label": "none", "direction": "forward"}]', "they are missing in it"),
    ],
)
async def test_the_second_request_says_what_was_wrong_with_the_first_answer(answer: str, cause: str) -> None:
    voice = Voice(lambda pairs: answer)
    await ask(voice, PAIRS)
    first, second = voice.told
    assert cause not in first and cause in second and second.startswith(first)
    assert [for_good for _, for_good in voice.faults] == [False, True]
    assert all(cause in told for told, _ in voice.faults)


@pytest.mark.parametrize(
    "answer", ["", "no idea", "[]", "{}", '[{"first": 1}]', '[{"first": "a", "sec', "[" * 5000, "[{" * 5000]
)
async def test_an_unreadable_answer_is_no_opinion(answer: str) -> None:
    voice = Voice(lambda pairs: answer)
    opinion = await ask(voice)
    assert opinion.claims == [] and len(opinion.unanswered) == PAIRS and len(voice.asked) == 4


@pytest.mark.parametrize(
    "dress",
    [
        lambda text: f"```json\n{text}\n```",
        lambda text: f"Here you are: {text}\nAnything else?",
        lambda text: json.dumps({"pairs": json.loads(text)}),
        lambda text: "\n".join(json.dumps([item]) for item in json.loads(text)),
        lambda text: f'<think>[First] I could write [{{"first": ...}}] or [{{ ... </think>\n{text}',
    ],
    ids=["fenced", "chatty", "wrapped", "in pieces", "after reasoning"],
)
async def test_a_dressed_up_answer_is_read(dress: Any) -> None:
    voice = Voice(lambda pairs: dress(everything_is("implicit")(pairs)))
    opinion = await ask(voice)
    assert len(opinion.claims) == PAIRS and len(voice.asked) == 2


async def test_an_answer_that_breaks_off_counts_as_far_as_it_goes() -> None:
    voice = Voice(lambda pairs: everything_is("explicit")(pairs)[: None if len(pairs) < 8 else -150])
    opinion = await ask(voice, 12)
    assert [len(request) for request in voice.asked if len(request) < 12] == [2, 2, 2]
    assert len(opinion.claims) == PAIRS and opinion.unanswered == []


async def test_a_failed_request_is_no_opinion_and_the_others_stand() -> None:
    def answer(pairs: Asked) -> str:
        if pairs[0]["first"]["name"] == "list_doors":
            raise TeacherError("test/voice", Failure.CONNECTION, "down")
        return by_reading(pairs)

    voice = Voice(answer)
    opinion = await ask(voice, 8)
    assert len(opinion.unanswered) == 8 and all(first == "list_doors" for first, _ in opinion.unanswered)
    assert len(opinion.claims) == PAIRS - 8
    assert len(voice.asked) == 5 and opinion.error == "test/voice: connection: down"


async def test_only_verdicts_on_the_pairs_in_question_count_and_each_pair_once() -> None:
    def answer(pairs: Asked) -> str:
        told = {"label": "implicit", "direction": "backward", "reason": "one\nline\t\x1b[31m"}
        return json.dumps(
            [
                {"first": "open_door", "second": "enter_room", **told, "label": "explicit"},
                {"first": "enter_room", "second": "open_door", **told, "direction": "forward"},
                {"first": "rm -rf", "second": "enter_room", **told},
                {"first": "open_door", "second": "open_door", **told},
                {"first": "cut_key", "second": "try_key", **told, "label": "maybe"},
                {"first": "cut_key", "second": "paint_door", **told, "direction": "sideways"},
                {"first": "cut_key", "second": "list_doors", "label": "none"},
                "open_door",
                None,
            ]
        )

    opinion = await ask(Voice(answer), 100)
    assert opinion.claims == [Claim("enter_room", "open_door", "implicit", "one line [31m")]
    assert len(opinion.unanswered) == PAIRS - 1


def test_a_reason_is_one_short_line() -> None:
    assert one_line("a\u2028b\r\n c\x00") == "a b c"
    assert len(one_line("x" * 5000)) == LONGEST_REASON


def test_claims_are_merged_into_the_edges() -> None:
    known = Edge("s", "a", "b", "explicit", executed=True)
    claims = [
        Claim("a", "b", "implicit", "state"),
        Claim("c", "a", "explicit"),
        Claim("b", "c", "implicit"),
        Claim("d", "a", "none", "strangers"),
    ]
    merged = merge("s", [known], claims)
    assert [(e.first, e.second, e.label, e.teacher, e.executed, e.reason) for e in merged] == [
        ("a", "b", "explicit", "implicit", True, "state"),
        ("b", "c", "implicit", "implicit", False, ""),
        ("c", "a", "explicit", "explicit", False, ""),
    ]
