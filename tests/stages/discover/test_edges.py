"""Edges found by running tools, and the teacher's opinion beside them."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from servers.kernel.catalog import Catalog, load_catalog
from servers.kernel.server import ToolServer
from servers.kernel.session import Session
from stages import sampling
from stages.discover.edges import Edge, edge_rows
from stages.discover.execution import Executor
from stages.discover.judged import judge, merge
from stages.params import DiscoverParams
from stages.records import Message
from stages.teacher.client import Completion, Teacher, TeacherError
from stages.teacher.scripted import write
from tests.stages.discover.house import REQUESTS, house


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], Edge]:
    server = house()
    monkeypatch.setattr(sampling, "load_requests", lambda _: REQUESTS)
    edges = list(Executor(Catalog([server]), server, world=0, bindings=4).edges())
    assert len({(e.first, e.second) for e in edges}) == len(edges)
    return {(edge.first, edge.second): edge for edge in edges}


def test_a_tool_that_enables_another_is_an_implicit_edge(home: dict[tuple[str, str], Edge]) -> None:
    edge = home["open_door", "enter_room"]
    assert (edge.label, edge.executed, edge.trace, edge.error_code) == ("implicit", True, True, "door_closed")
    assert [pair for pair, e in home.items() if e.label == "implicit" and e.executed] == [("open_door", "enter_room")]


@pytest.mark.parametrize(
    "pair",
    [
        ("paint_door", "enter_room"),  # writes what the second reads, and doesn't help
        ("open_door", "look_around"),  # the second works anyway
        ("open_door", "paint_door"),
    ],
)
def test_a_trace_alone_is_not_executed(home: dict[tuple[str, str], Edge], pair: tuple[str, str]) -> None:
    assert home[pair].trace and not home[pair].executed


def test_an_output_that_the_second_needs_is_an_explicit_edge(home: dict[tuple[str, str], Edge]) -> None:
    listed, made = home["list_rooms", "look_around"], home["cut_key", "try_key"]
    assert (listed.label, listed.parameter, listed.executed) == ("explicit", "room_id", True)
    assert (made.label, made.parameter, made.executed, made.error_code) == ("explicit", "key_id", True, "not_found")


def test_an_identifier_that_a_tool_was_given_is_not_its_output(home: dict[tuple[str, str], Edge]) -> None:
    edge = home["describe_room", "look_around"]
    assert edge.schema and not edge.executed


def test_every_executed_edge_of_the_bank_has_a_witness() -> None:
    catalog = load_catalog(("banking",))
    server = catalog.servers["banking"]
    edges = list(Executor(catalog, server, 7, 6).edges())
    executed = {(e.first, e.second): e for e in edges if e.executed}
    assert executed["list_payees", "send_payment"].parameter == "payee_id"
    assert executed["schedule_payment", "cancel_scheduled_payment"].label == "explicit"
    assert executed["cancel_scheduled_payment", "remove_payee"].error_code == "payee_in_use"
    assert executed["unfreeze_card", "set_card_limit"].label == "implicit"
    assert ("list_payees", "freeze_card") not in executed and ("list_accounts", "list_cards") not in executed
    for edge in edges:
        assert edge.schema or edge.trace
        assert bool(edge.error_code) == edge.executed
        assert (edge.label == "explicit") == bool(edge.parameter)
    assert edges == list(Executor(catalog, server, 7, 6).edges())


def test_trying_pairs_changes_no_shared_state() -> None:
    catalog = load_catalog(("banking",))
    before = Session(catalog.world(7)).state_hash
    list(Executor(catalog, catalog.servers["banking"], 7, 2).edges())
    assert Session(catalog.world(7)).state_hash == before


def test_a_verdict_follows_the_evidence_that_counts() -> None:
    edge = Edge("s", "a", "b", "explicit", executed=True, teacher="implicit")
    assert [edge.trusted(kind) for kind in ("executed", "teacher", "both")] == [True, False, False]
    edge.teacher = "explicit"
    assert all(edge.trusted(kind) for kind in ("executed", "teacher", "both"))
    assert [row["verdict"] for row in edge_rows([edge, Edge("s", "b", "a", "implicit")], "both")] == [True, False]


class Voice:
    """A teacher whose answers are made by a function."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[list[dict[str, Any]]] = []

    async def complete(self, messages: list[Message], **options: Any) -> Completion:
        self.asked.append(json.loads(messages[-1].content))
        return Completion(Message("assistant", self.answer(self.asked[-1])), 1, 1, 0.0)


async def labels(server: ToolServer, voice: Voice, size: int = 20) -> dict[tuple[str, str], str]:
    return await judge(cast(Teacher, voice), server, DiscoverParams(pairs_per_request=size), 0.1)


async def test_the_teacher_is_asked_about_every_pair_once() -> None:
    voice = Voice(lambda pairs: write({"role": "edges"}, [{"content": json.dumps(pairs)}])["content"])
    found = await labels(house(), voice, 5)
    pairs = [frozenset((p["first"]["name"], p["second"]["name"])) for request in voice.asked for p in request]
    assert len(pairs) == len(set(pairs)) == 9 * 8 // 2 and max(map(len, voice.asked)) == 5
    assert found["list_rooms", "enter_room"] == "explicit" and ("enter_room", "list_rooms") not in found


@pytest.mark.parametrize("answer", ["", "no idea", "[]", "{}", '[{"first": 1}]', '[{"first": "a", "sec'])
async def test_an_unreadable_answer_counts_as_none(answer: str) -> None:
    assert await labels(house(), Voice(lambda pairs: answer)) == {}


async def test_a_failed_request_counts_as_none_and_the_others_stand() -> None:
    def answer(pairs: list[dict[str, Any]]) -> str:
        if pairs[0]["first"]["name"] == "list_doors":
            raise TeacherError("down")
        return str(write({"role": "edges"}, [{"content": json.dumps(pairs)}])["content"])

    found = await labels(house(), Voice(answer), 8)
    assert ("list_doors", "open_door") not in found and ("list_rooms", "enter_room") in found


async def test_a_backward_verdict_turns_the_pair_and_strange_names_are_dropped() -> None:
    def answer(pairs: list[dict[str, Any]]) -> str:
        verdict = {"label": "implicit", "direction": "backward"}
        return json.dumps(
            [
                {"first": "open_door", "second": "enter_room", **verdict},
                {"first": "rm -rf", "second": "enter_room", **verdict},
                {"first": "cut_key", "second": "try_key", **verdict, "label": "maybe"},
            ]
        )

    assert await labels(house(), Voice(answer), 100) == {("enter_room", "open_door"): "implicit"}


def test_labels_are_merged_into_the_edges() -> None:
    known = Edge("s", "a", "b", "explicit", executed=True)
    merged = merge("s", [known], {("a", "b"): "implicit", ("c", "a"): "explicit", ("b", "c"): "implicit"})
    assert [(e.first, e.second, e.label, e.teacher, e.executed) for e in merged] == [
        ("a", "b", "explicit", "implicit", True),
        ("b", "c", "implicit", "implicit", False),
        ("c", "a", "explicit", "explicit", False),
    ]
