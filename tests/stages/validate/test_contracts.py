"""The contracts hold for what the stages make, and each breaks when its subject is broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import polars as pl
import pytest

from stages.bootstrap.catalogue import server_rows, tool_rows
from stages.conversations import Conversation
from stages.dataset import RlRow, Split
from stages.records import Message, ToolCall
from stages.validate import frames
from stages.validate.expectations import check_contracts
from stages.validate.rows import rl_rows, sft_rows
from tests.stages.synthesize.writing import SEED, catalog, chains, conversations

OWNER = {name: entry.server.name for name, entry in catalog().entries.items()}
EDGE = {
    "server": "banking", "first": "list_cards", "second": "freeze_card",
    "label": "explicit", "verdict": "explicit", "parameter": "card_id",
}  # fmt: skip
REFUSAL = {"id": "c", "reason": "ragged", "detail": "why"}
ORIGIN = {"source": "user", "message": 0}


def rl_frame(made: Sequence[Conversation], leaked: Sequence[str] = ()) -> pl.DataFrame:
    rows: dict[Split, list[RlRow]] = {"train": [row for c in made for row in rl_rows(catalog(), c)], "test": []}
    return frames.rl_frame(rows, leaked)


def whole() -> dict[str, pl.DataFrame]:
    made = conversations()[:6]
    return {
        "servers": frames.server_frame(server_rows(catalog(), SEED, {})),
        "tools": frames.tool_frame(tool_rows(catalog()), catalog().servers.keys()),
        "edges": frames.edge_frame([EDGE], OWNER),
        "chains": frames.chain_frame([asdict(chain) for chain in chains()], OWNER),
        "conversations": frames.conversation_frame(made),
        "rl_rows": rl_frame(made),
        "sft_rows": frames.sft_frame(list(sft_rows(made)), {c.id for c in made}),
        "rejected": frames.rejected_frame([REFUSAL], {c.id for c in made}),
        "provenance": frames.provenance_frame([ORIGIN]),
    }


def broken(**changed: pl.DataFrame) -> set[str]:
    """The columns (or names) of expectations that fail when these frames stand alone."""
    outcome, page = check_contracts(changed)
    assert page.lstrip().startswith("<!DOCTYPE html>")
    failed = [e for suite in outcome["suites"] for e in suite["expectations"] if not e["success"]]
    assert bool(failed) != outcome["success"]
    return {e["column"] or e["expectation"] for e in failed}


def test_what_the_stages_make_holds() -> None:
    outcome, _ = check_contracts(whole())
    failed = [(s["suite"], e) for s in outcome["suites"] for e in s["expectations"] if not e["success"]]
    assert failed == [] and len(outcome["suites"]) == 9


def test_a_run_without_rejections_holds() -> None:
    assert broken(rejected=frames.rejected_frame([], {"a"}), provenance=frames.provenance_frame([])) == set()


def test_a_sick_server_and_an_unknown_one_break_the_catalogue() -> None:
    assert broken(servers=frames.server_frame(server_rows(catalog(), SEED, {"banking": "answers nothing"}))) == {
        "healthy"
    }
    assert broken(tools=frames.tool_frame(tool_rows(catalog()), {"banking"})) == {"known_server"}
    rows = tool_rows(catalog())
    rows[0] = {**rows[0], "input_schema": '{"type":"object","required":["x"]}', "name": rows[1]["name"]}
    assert broken(tools=frames.tool_frame(rows, catalog().servers.keys())) == {"name", "unknown_required"}


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"second": "list_cards"}, "to_itself"),
        ({"second": "list_budget_categories"}, "across_servers"),
        ({"label": "maybe"}, "label"),
        ({"verdict": "perhaps"}, "verdict"),
    ],
)
def test_a_bad_edge_breaks_the_graph(change: dict[str, Any], column: str) -> None:
    assert column in broken(edges=frames.edge_frame([{**EDGE, **change}], OWNER))


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"tools": ("list_cards", "list_cards")}, "repeated_tools"),
        ({"tools": ("list_cards", "nowhere")}, "foreign_tools"),
        ({"labels": ()}, "missing_labels"),
        ({"labels": ("implicit",)}, "explicit_edges"),
    ],
)
def test_a_bad_chain_breaks_the_graph(change: dict[str, Any], column: str) -> None:
    chain = {"id": "c", "server": "banking", "tools": ("list_cards", "freeze_card"), "labels": ("explicit",)}
    assert broken(chains=frames.chain_frame([chain], OWNER)) == set()
    assert column in broken(chains=frames.chain_frame([{**chain, **change}], OWNER))


def cut(made: Conversation) -> Conversation:
    place = next(i for i, m in enumerate(made.messages) if m.role == "tool")
    messages = [replace(m, content=m.content[:-3]) if i == place else m for i, m in enumerate(made.messages)]
    return replace(made, messages=tuple(messages))


CALL = ToolCall("late", "list_cards", {})


@pytest.mark.parametrize(
    ("change", "column"),
    [
        (lambda c: replace(c, kind="other"), "kind"),
        (lambda c: replace(c, tools=(c.tools[0], *c.tools)), "duplicate_tools"),
        (lambda c: replace(c, tools=()), "hidden_truth_calls"),
        (lambda c: replace(c, messages=(*c.messages, Message("user", "?"))), "last_role"),
        (lambda c: replace(c, messages=(*c.messages, Message("assistant", "", (CALL,)))), "last_message_calls"),
        (lambda c: replace(c, messages=(*c.messages, Message("assistant", "", (CALL,)))), "unanswered_calls"),
        (lambda c: replace(c, messages=(*c.messages, Message("assistant", ""))), "empty_rounds"),
        (cut, "cut_results"),
    ],
)
def test_a_ragged_conversation_breaks_the_contract(change: Callable[[Conversation], Conversation], column: str) -> None:
    first = next(c for c in conversations() if c.turns[0].truth)
    assert column in broken(conversations=frames.conversation_frame([change(first)]))


def test_a_chain_that_training_has_seen_breaks_the_contract() -> None:
    made = conversations()[:3]
    assert broken(rl_rows=rl_frame(made)) == set()
    assert broken(rl_rows=rl_frame(made, [made[0].id])) == {"leaked_chain"}


def test_rows_that_cannot_be_replayed_or_learnt_from_break_the_contract() -> None:
    made = conversations()[0]
    rows = list(rl_rows(catalog(), made))
    lost = [replace(rows[0], replay=(), state_hash="x"), *rows[1:]]
    assert broken(rl_rows=frames.rl_frame({"train": lost}, ())) == {"missing_user_turns", "state_hash"}
    (sft,) = sft_rows([made])
    users = replace(sft, learn=tuple(m.role == "user" for m in sft.messages))
    assert broken(sft_rows=frames.sft_frame([users], ())) == {"learnt_of_others", "in_training"}
    assert broken(sft_rows=frames.sft_frame([replace(sft, learn=())], {sft.id})) == {"learnt", "unmarked_messages"}


def test_a_rejection_needs_a_known_reason_a_detail_and_to_be_one() -> None:
    bad = {"id": "a", "reason": "bad luck", "detail": ""}
    assert broken(rejected=frames.rejected_frame([bad], {"a"})) == {"reason", "detail_length", "accepted"}


def test_an_origin_needs_a_known_kind_and_the_message_that_goes_with_it() -> None:
    rows = [{"source": "dream", "message": 1}, {"source": "user", "message": -1}, {"source": "choice", "message": 2}]
    assert broken(provenance=frames.provenance_frame(rows)) == {"source", "lacks_message", "has_message"}
