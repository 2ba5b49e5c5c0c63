"""Held-out servers: mere distractors are taken away, anything more rejects the conversation."""

from __future__ import annotations

from dataclasses import replace

from stages.conversations import Conversation
from stages.params import QuotaParams
from stages.records import Message
from stages.rollout import visible_spec
from stages.validate.held_out import hide_held_out
from stages.validate.leakage import leaked_chains
from stages.validate.quota import missing, trim
from stages.validate.reasons import Reason, Rejection
from stages.validate.replay import check_replay
from tests.stages.synthesize.writing import catalog, conversations
from tests.stages.validate.acting import ASK, LOOKUP, move, played

DISTRACTOR = visible_spec(catalog().entry("create_budget_category").tool)


def distracted(**changes: object) -> Conversation:
    made = played((ASK, [LOOKUP, move()]))
    own = [visible_spec(catalog().entry(name).tool) for name in ("list_accounts", "transfer_between_accounts")]
    return replace(made, perturbations=(), tools=(own[0], DISTRACTOR, own[1]), **changes)  # type: ignore[arg-type]


def test_a_distractor_of_a_held_out_server_goes_and_the_replay_stays() -> None:
    shown = hide_held_out(catalog(), distracted(), ["budget"])
    assert isinstance(shown, Conversation)
    assert [tool.name for tool in shown.tools] == ["list_accounts", "transfer_between_accounts"]
    assert replace(shown, tools=distracted().tools) == distracted()
    assert check_replay(catalog(), shown, 0.3) is None


def test_without_held_out_servers_and_on_the_server_itself_nothing_changes() -> None:
    assert hide_held_out(catalog(), distracted(), []) == distracted()
    assert hide_held_out(catalog(), distracted(server="budget"), ["budget"]) == distracted(server="budget")


def test_a_conversation_that_calls_or_names_a_held_out_tool_is_rejected() -> None:
    made = played(("Make a category.", [("create_budget_category", {"name": "Books", "monthly_limit": 50})]))
    found = hide_held_out(catalog(), replace(made, tools=(DISTRACTOR,)), ["budget"])
    assert isinstance(found, Rejection) and found.reason is Reason.SHOWS_HELD_OUT_SERVER
    assert "create_budget_category" in found.detail
    told = distracted()
    named = (*told.messages[:2], replace(told.messages[2], content='{"error":"try create_budget_category"}'))
    found = hide_held_out(catalog(), replace(told, messages=(*named, *told.messages[3:])), ["budget"])
    assert isinstance(found, Rejection) and "create_budget_category" in found.detail


def test_a_request_for_a_held_out_server_is_rejected_and_so_is_one_for_an_unknown_server() -> None:
    for context, kept in (({"asked_server": "budget"}, False), ({}, False), ({"asked_server": "maps"}, True)):
        made = replace(distracted(), perturbations=("irrelevance",), context=context)
        found = hide_held_out(catalog(), made, ["budget"])
        assert isinstance(found, Conversation) == kept
        assert kept or (isinstance(found, Rejection) and found.reason is Reason.SHOWS_HELD_OUT_SERVER)


def test_nothing_left_to_show_is_rejected() -> None:
    made = replace(played(("Hello", [])), tools=(DISTRACTOR,), perturbations=())
    assert isinstance(hide_held_out(catalog(), made, ["budget"]), Rejection)


# Quota.


def test_the_quota_keeps_the_first_of_each_kind() -> None:
    made = conversations()
    kept, over = trim(made, QuotaParams(multi_turn=3, clarification=0, abstention=99))
    assert [c.id for c in kept if c.kind == "multi_turn"] == [c.id for c in made if c.kind == "multi_turn"][:3]
    assert not any(c.kind == "clarification" for c in kept)
    assert len(kept) + len(over) == len(made) and {r.reason for _, r in over} == {Reason.OVER_QUOTA}
    assert missing(kept, QuotaParams(multi_turn=3, clarification=0, abstention=99)).keys() == {"abstention"}
    assert trim(made, None) == (list(made), []) and missing(made, None) == {}


# Leakage of chains.


def test_a_chain_in_two_splits_is_found() -> None:
    first, second = conversations()[0], replace(conversations()[0], id="again")
    other = replace(conversations()[0], id="other", chain=("a", "b"))
    splits = {first.id: "train", "again": "test", "other": "test"}
    assert leaked_chains([first, second, other], splits) == {"again"}  # type: ignore[arg-type]
    apart = replace(second, chain=(), messages=(Message("user", "x"),))
    assert leaked_chains([replace(first, chain=()), apart], splits) == set()  # type: ignore[arg-type]
