"""The contracts between stages as Great Expectations suites, with their results as JSON and as HTML docs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import polars as pl

from stages.validate.suites import SUITES


def check_contracts(frames: Mapping[str, pl.DataFrame]) -> tuple[dict[str, Any], str]:
    """Run the suite of each frame.

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
    for name, frame in frames.items():
        suite = context.suites.add(gx.ExpectationSuite(name=name, expectations=SUITES[name](gx.expectations)))
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
