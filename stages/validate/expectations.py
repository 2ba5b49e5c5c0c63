"""The dataset's contract as a Great Expectations suite, with its result as JSON and as HTML docs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import polars as pl

from stages.conversations import Conversation
from stages.dataset import RlRow

KINDS = ["multi_turn", "clarification", "abstention"]


def conversation_frame(conversations: Sequence[Conversation]) -> pl.DataFrame:
    """One flat row for each conversation."""
    return pl.DataFrame(
        [
            {
                "id": c.id,
                "kind": c.kind,
                "server": c.server,
                "turns": len(c.turns),
                "messages": len(c.messages),
                "tools": len(c.tools),
                "duplicate_tools": len(c.tools) - len({tool.name for tool in c.tools}),
                "truth_calls": sum(len(turn.truth) for turn in c.turns),
                "hidden_truth_calls": sum(
                    call.name not in {tool.name for tool in c.tools} for turn in c.turns for call in turn.truth
                ),
                "last_role": c.messages[-1].role,
                "last_event": c.transitions[-1].event,
                "cost": c.cost,
            }
            for c in conversations
        ]
    )


def row_frame(rows: Sequence[RlRow], split: str) -> pl.DataFrame:
    """One flat row for each RL row."""
    return pl.DataFrame(
        [
            {
                "id": row.id,
                "split": split,
                "last_role": row.messages[-1].role,
                "truth_calls": len(row.truth),
                "bad_edges": sum(d >= i for i, call in enumerate(row.truth) for d in call.depends_on),
                "state_hash_length": len(row.state_hash),
            }
            for row in rows
        ]
    )


def check_contracts(conversations: pl.DataFrame, rows: pl.DataFrame) -> tuple[dict[str, Any], str]:
    """Run both suites.

    Returns:
        The results as plain data (`success`, and one entry for each expectation), and an HTML page.
    """
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx
    from great_expectations.render.renderer import ValidationResultsPageRenderer
    from great_expectations.render.view import DefaultJinjaPageView

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    results, pages = [], []
    for name, frame, expectations in (
        ("conversations", conversations, _conversation_suite(gx.expectations)),
        ("rl_rows", rows, _row_suite(gx.expectations)),
    ):
        suite = context.suites.add(gx.ExpectationSuite(name=name, expectations=expectations))
        batches = (
            context.data_sources.add_pandas(name).add_dataframe_asset(name).add_batch_definition_whole_dataframe(name)
        )
        definition = context.validation_definitions.add(gx.ValidationDefinition(name=name, data=batches, suite=suite))
        outcome = definition.run(batch_parameters={"dataframe": frame.to_pandas()})
        results.append({"suite": name, "success": bool(outcome.success), "expectations": _plain(outcome)})
        pages.append(DefaultJinjaPageView().render(ValidationResultsPageRenderer().render(outcome)))
    return {"success": all(item["success"] for item in results), "suites": results}, "\n".join(pages)


def _plain(outcome: Any) -> list[dict[str, Any]]:
    return [
        {
            "expectation": item.expectation_config.type,
            "column": item.expectation_config.kwargs.get("column", ""),
            "success": bool(item.success),
            "unexpected": int(item.result.get("unexpected_count") or 0),
        }
        for item in outcome.results
    ]


def _conversation_suite(e: Any) -> list[Any]:
    return [
        e.ExpectTableRowCountToBeBetween(min_value=1),
        e.ExpectColumnValuesToBeUnique(column="id"),
        e.ExpectColumnValuesToNotBeNull(column="server"),
        e.ExpectColumnValuesToBeInSet(column="kind", value_set=KINDS),
        e.ExpectColumnValuesToBeBetween(column="turns", min_value=1, max_value=10),
        e.ExpectColumnValuesToBeBetween(column="tools", min_value=1),
        e.ExpectColumnValuesToBeInSet(column="duplicate_tools", value_set=[0]),
        e.ExpectColumnValuesToBeInSet(column="hidden_truth_calls", value_set=[0]),
        e.ExpectColumnValuesToBeInSet(column="last_role", value_set=["assistant"]),
        e.ExpectColumnValuesToBeInSet(column="last_event", value_set=["done"]),
        e.ExpectColumnValuesToBeBetween(column="cost", min_value=0),
    ]


def _row_suite(e: Any) -> list[Any]:
    return [
        e.ExpectTableRowCountToBeBetween(min_value=1),
        e.ExpectColumnValuesToBeUnique(column="id"),
        e.ExpectColumnDistinctValuesToBeInSet(column="split", value_set=["train", "val", "test"]),
        e.ExpectColumnValuesToBeInSet(column="last_role", value_set=["user"]),
        e.ExpectColumnValuesToBeInSet(column="bad_edges", value_set=[0]),
        e.ExpectColumnValuesToBeInSet(column="state_hash_length", value_set=[32]),
    ]
