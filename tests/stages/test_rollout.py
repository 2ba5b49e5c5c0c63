"""One episode: whatever a model writes is answered, and nothing of it ends the program."""

from __future__ import annotations

import json
from typing import Any

import pytest

from servers.kernel.catalog import Catalog, load_catalog
from servers.kernel.errors import HarnessError
from servers.kernel.session import Session
from stages.dataset import ReplayStep
from stages.records import Json, Message, ToolCall
from stages.rollout import MAX_PARALLEL_CALLS, Episode, replayed_session, visible_spec
from tests.stages.discover.house import house

CATALOG = load_catalog(("banking",))
VISIBLE = ("list_accounts", "list_cards", "freeze_card", "list_payees")


def episode(rounds: int = 5, catalog: Catalog = CATALOG, visible: tuple[str, ...] = VISIBLE) -> Episode:
    tools = [visible_spec(catalog.entry(name).tool) for name in visible]
    return Episode(catalog, Session(catalog.world(0)), tools, [Message("user", "hello")], rounds)


def calls(*steps: tuple[str, dict[str, Json] | None]) -> Message:
    return Message("assistant", "", tuple(ToolCall(f"c{n}", name, given) for n, (name, given) in enumerate(steps)))


def error(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(message.content)["error"]
    return found


def active_card() -> str:
    rows = CATALOG.world(0).rows.tables["banking.Card"]
    return next(key for key, row in rows.items() if getattr(row, "status") == "active")  # noqa: B009


@pytest.mark.parametrize(
    "name",
    ["no_such_tool", "get_account", "LIST_CARDS", "list_cards ", "", "__import__('os').system", "x" * 10**6, "a\0b"],
)
def test_a_tool_that_is_not_shown_is_refused_and_the_shown_ones_named(name: str) -> None:
    going = episode()
    before = going.session.state_hash
    going.respond(calls((name, {})))
    (done,) = going.calls
    assert (done.ok, done.executed, done.error_code, done.infrastructure) == (False, False, "unknown_tool", False)
    told = error(going.messages[-1])
    assert all(tool in told["message"] for tool in VISIBLE) and len(told["message"]) < 400
    assert going.session.state_hash == before and not going.done


def test_broken_json_is_answered_with_what_is_wrong() -> None:
    going = episode()
    broken = ToolCall("c0", "freeze_card", None, raw='{"card_id": ', error="The arguments are not JSON: line 1")
    going.respond(Message("assistant", "", (broken,)))
    assert error(going.messages[-1]) == {"code": "invalid_call", "message": "The arguments are not JSON: line 1"}
    assert not going.calls[0].executed and going.calls[0].arguments is None


def test_bad_arguments_are_not_counted_as_executed_and_a_refusal_of_the_world_is() -> None:
    going = episode()
    going.respond(calls(("freeze_card", {}), ("freeze_card", {"card_id": "CRD-1"})))
    bad, refused = going.calls
    assert (bad.error_code, bad.executed) == ("invalid_arguments", False)
    assert (refused.error_code, refused.executed, refused.ok) == ("not_found", True, False)


def test_no_more_than_the_limit_of_parallel_calls_runs() -> None:
    going = episode()
    going.respond(calls(*[("list_cards", {})] * (MAX_PARALLEL_CALLS + 3)))
    assert [call.ok for call in going.calls] == [True] * MAX_PARALLEL_CALLS + [False] * 3
    assert {call.error_code for call in going.calls[MAX_PARALLEL_CALLS:]} == {"too_many_calls"}
    assert {call.position for call in going.calls} == {1}
    results = going.messages[2:]
    assert [m.tool_call_id for m in results] == [f"c{n}" for n in range(MAX_PARALLEL_CALLS + 3)]


def test_an_episode_ends_with_words_or_at_the_limit_on_rounds() -> None:
    talking = episode()
    talking.respond(calls(("list_cards", {})))
    assert not talking.done
    talking.respond(Message("assistant", "That's all."))
    assert talking.done and talking.finish().stop == "answered"
    calling = episode(rounds=2)
    calling.respond(calls(("list_cards", {})))
    assert not calling.done
    calling.respond(calls(("list_cards", {})))
    assert calling.done and calling.finish().stop == "rounds"
    assert calling.finish("length").stop == "length"
    with pytest.raises(ValueError, match="'tired'"):
        calling.finish("tired")


@pytest.mark.parametrize("extra", [1, 2, 3])
def test_extra_reads_leave_the_state_as_it_was(extra: int) -> None:
    plain, curious = episode(), episode()
    freeze = calls(("freeze_card", {"card_id": active_card()}))
    plain.respond(freeze)
    for step in ["list_accounts", "list_payees", "list_cards"][:extra]:
        curious.respond(calls((step, {})))
    curious.respond(freeze)
    assert plain.calls[-1].result == curious.calls[-1].result and plain.calls[-1].ok
    assert plain.finish().state_hash == curious.finish().state_hash != episode().session.state_hash
    assert curious.session.log == plain.session.log and curious.session.now == plain.session.now


def test_a_fault_of_ours_is_marked_as_infrastructure_and_leaves_no_trace() -> None:
    server = house()

    @server.tool()
    def collapse(session: Session) -> dict[str, str]:
        """Fail inside."""
        session.new_id("DOR")
        raise RuntimeError("boom")

    going = episode(catalog=Catalog([server]), visible=("collapse", "list_doors"))
    before = going.session.state_hash
    going.respond(calls(("collapse", {}), ("list_doors", {})))
    fault, fine = going.calls
    assert fault.infrastructure and fault.error_code == "internal_error" and "boom" not in fault.result
    assert fine.ok and not fine.infrastructure
    assert going.session.state_hash == before and not going.session.log


def test_a_user_turn_lets_time_pass_and_opens_the_episode_again() -> None:
    going = episode()
    now = going.session.now
    going.respond(Message("assistant", "Bye."))
    going.say("One more thing")
    assert not going.done and going.session.now > now and going.messages[-1] == Message("user", "One more thing")


def test_episodes_never_touch_each_other() -> None:
    one, other = episode(), episode()
    one.respond(calls(("freeze_card", {"card_id": active_card()})))
    assert one.calls[0].ok and other.session.state_hash != one.session.state_hash
    other.respond(calls(("freeze_card", {"card_id": active_card()})))
    assert other.calls[0].ok and other.session.state_hash == one.session.state_hash


def test_a_replay_that_does_not_fit_the_servers_is_refused() -> None:
    steps = [ReplayStep("", {}), ReplayStep("freeze_card", {"card_id": active_card()})]
    assert replayed_session(CATALOG, 0, steps).state_hash != Session(CATALOG.world(0)).state_hash
    with pytest.raises(HarnessError, match="freeze_card"):
        replayed_session(CATALOG, 0, [*steps, steps[-1]])
