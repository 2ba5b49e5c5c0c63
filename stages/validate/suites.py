"""What each frame owes, as Great Expectations; `e` is the library's module of expectations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_args

from stages.conversations import Kind
from stages.dataset import Split
from stages.discover.edges import Label
from stages.validate.origins import OriginKind
from stages.validate.reasons import Reason

Suite: TypeAlias = Callable[[Any], list[Any]]

HASH = r"^[0-9a-f]{32}$"
FINGERPRINT = r"^[0-9a-f]{16}$"
LONGEST_CONVERSATION = 10
"""User turns; `synthesize.max_turns` allows no more."""


def _zero(e: Any, *columns: str) -> list[Any]:
    return [e.ExpectColumnValuesToBeInSet(column=column, value_set=[0]) for column in columns]


def _false(e: Any, *columns: str) -> list[Any]:
    return [e.ExpectColumnValuesToBeInSet(column=column, value_set=[False]) for column in columns]


def _servers(e: Any) -> list[Any]:
    return [
        e.ExpectTableRowCountToBeBetween(min_value=1),
        e.ExpectColumnValuesToBeUnique(column="server"),
        e.ExpectColumnValuesToBeBetween(column="tools", min_value=1),
        e.ExpectColumnValuesToBeBetween(column="rows", min_value=1),
        e.ExpectColumnValuesToBeInSet(column="healthy", value_set=[True]),
        e.ExpectColumnValuesToMatchRegex(column="seed_hash", regex=HASH),
        e.ExpectColumnValuesToMatchRegex(column="fingerprint", regex=FINGERPRINT),
    ]


def _tools(e: Any) -> list[Any]:
    return [
        e.ExpectTableRowCountToBeBetween(min_value=1),
        e.ExpectColumnValuesToBeUnique(column="name"),
        e.ExpectColumnValuesToMatchRegex(column="name", regex=r"^[a-z][a-z0-9_]*$"),
        e.ExpectColumnValueLengthsToBeBetween(column="description", min_value=10),
        e.ExpectColumnValuesToBeInSet(column="input_type", value_set=["object"]),
        e.ExpectColumnValuesToBeInSet(column="output_type", value_set=["object"]),
        e.ExpectColumnValuesToBeInSet(column="known_server", value_set=[True]),
        *_zero(e, "unknown_required"),
        *_false(e, "reads_and_destroys"),
    ]


def _edges(e: Any) -> list[Any]:
    labels = list(get_args(Label))
    return [
        e.ExpectTableRowCountToBeBetween(min_value=1),
        e.ExpectColumnValuesToBeUnique(column="edge"),
        e.ExpectColumnValuesToBeInSet(column="label", value_set=labels),
        e.ExpectColumnValuesToBeInSet(column="verdict", value_set=[*labels, "none"]),
        *_false(e, "to_itself", "across_servers"),
    ]


def _chains(e: Any) -> list[Any]:
    return [
        e.ExpectTableRowCountToBeBetween(min_value=1),
        e.ExpectColumnValuesToBeUnique(column="id"),
        e.ExpectColumnValuesToBeUnique(column="path"),
        e.ExpectColumnValuesToBeBetween(column="tools", min_value=2),
        e.ExpectColumnValuesToBeBetween(column="explicit_edges", min_value=1),
        *_zero(e, "repeated_tools", "foreign_tools", "missing_labels"),
    ]


def _conversations(e: Any) -> list[Any]:
    return [
        e.ExpectTableRowCountToBeBetween(min_value=1),
        e.ExpectColumnValuesToBeUnique(column="id"),
        e.ExpectColumnValuesToNotBeNull(column="server"),
        e.ExpectColumnValuesToBeInSet(column="kind", value_set=list(get_args(Kind))),
        e.ExpectColumnValuesToBeBetween(column="turns", min_value=1, max_value=LONGEST_CONVERSATION),
        e.ExpectColumnValuesToBeBetween(column="cost", min_value=0),
        e.ExpectColumnValuesToBeInSet(column="last_role", value_set=["assistant"]),
        e.ExpectColumnValuesToBeInSet(column="last_event", value_set=["done"]),
        *_zero(e, "duplicate_tools", "hidden_truth_calls", "unanswered_calls", "cut_results"),
        *_zero(e, "empty_rounds", "last_message_calls"),
    ]


def _rl_rows(e: Any) -> list[Any]:
    return [
        e.ExpectTableRowCountToBeBetween(min_value=1),
        e.ExpectColumnValuesToBeUnique(column="id"),
        e.ExpectColumnDistinctValuesToBeInSet(column="split", value_set=list(get_args(Split))),
        e.ExpectColumnValuesToBeInSet(column="last_role", value_set=["user"]),
        e.ExpectColumnValuesToMatchRegex(column="state_hash", regex=HASH),
        *_zero(e, "missing_user_turns", "bad_edges", "hidden_truth_calls"),
        *_false(e, "leaked_chain"),
    ]


def _sft_rows(e: Any) -> list[Any]:
    return [
        e.ExpectColumnValuesToBeUnique(column="id"),
        e.ExpectColumnValuesToBeInSet(column="in_training", value_set=[True]),
        e.ExpectColumnValuesToBeBetween(column="learnt", min_value=1),
        *_zero(e, "unmarked_messages", "learnt_of_others"),
    ]


def _rejected(e: Any) -> list[Any]:
    return [
        e.ExpectColumnValuesToBeUnique(column="id"),
        e.ExpectColumnValuesToBeInSet(column="reason", value_set=[reason.value for reason in Reason]),
        e.ExpectColumnValuesToBeBetween(column="detail_length", min_value=1),
        *_false(e, "accepted"),
    ]


def _provenance(e: Any) -> list[Any]:
    return [
        e.ExpectColumnValuesToBeInSet(column="source", value_set=list(get_args(OriginKind))),
        *_false(e, "lacks_message", "has_message"),
    ]


SUITES: Mapping[str, Suite] = {
    "servers": _servers,
    "tools": _tools,
    "edges": _edges,
    "chains": _chains,
    "conversations": _conversations,
    "rl_rows": _rl_rows,
    "sft_rows": _sft_rows,
    "rejected": _rejected,
    "provenance": _provenance,
}
"""One suite for each frame, by its name."""
