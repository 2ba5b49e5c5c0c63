"""The numbers of a validation, as the report, the card and `dvc metrics` read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stages.conversations import Conversation
from stages.params import ValidateParams
from stages.stage import StageContext
from stages.synthesize.diversity import SAMPLE, text_diversity
from stages.validate.leakage import leakage
from stages.validate.origins import leaves
from stages.validate.questions import Questions
from stages.validate.quota import missing
from stages.validate.tables import Tables
from stages.validate.verdicts import Verdicts


def summarise(
    ctx: StageContext[ValidateParams], verdicts: Verdicts, tables: Tables, questions: Sequence[Questions]
) -> dict[str, Any]:
    """Counts, rates and comparisons. What is over quota was accepted and counts as such in the acceptance rate."""
    kept, own = verdicts.conversations, ctx.catalog.servers
    good, bad = len(kept) + len(verdicts.over_quota), len(verdicts.rejected)
    return {
        "accepted": len(kept),
        "rejected": bad,
        "over_quota": counts(c.kind for c, _ in verdicts.over_quota),
        "quota_lacks": missing(kept, ctx.params.quota),
        "acceptance_rate": round(good / (good + bad), 4),
        "reasons": counts(r.reason.value for _, r in verdicts.rejected),
        "kinds": counts(c.kind for c in kept),
        "information": counts(c.information for c in kept if c.kind == "multi_turn"),
        "perturbations": counts(name for c in kept for name in c.perturbations),
        "servers": len({c.server for c in kept} & own.keys()),
        "held_out_servers": sorted(ctx.params.held_out_servers),
        "outside_sets": counts(c.server for c in kept if c.server not in own),
        "rows": {name: len(part) for name, part in tables.rows.items()},
        "sft_rows": len(tables.imitated),
        "tools_called": len({call.name for c in kept for turn in c.turns for call in turn.truth}),
        "provenance": provenance(kept, tables.origins),
        "leakage": leakage(ctx.catalog, tables.rows, tables.leaked),
        "diversity": diversity(kept, questions, ctx.seed),
    }


def provenance(kept: Sequence[Conversation], origins: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many literals the ground truth has, how many of them have an origin, and of which kind."""
    calls = (call for c in kept for turn in c.turns for call in turn.truth)
    literals = sum(1 for call in calls for name, value in call.arguments.items() for _ in leaves(name, value))
    return {
        "literals": literals,
        "traced": round(len(origins) / literals, 4) if literals else 1.0,
        "sources": counts(row["source"] for row in origins),
    }


def diversity(kept: Sequence[Conversation], questions: Sequence[Questions], seed: int) -> dict[str, Any]:
    """How varied our user texts are, and, by samples of the same size, the questions of each benchmark at hand."""
    ours = [m.content for c in kept for m in c.messages if m.role == "user"]
    sets = {"ours": ours, **{item.benchmark: list(item.texts) for item in questions if item.texts}}
    size = min(SAMPLE, *map(len, sets.values()))
    return {name: text_diversity(texts, seed, size) for name, texts in sets.items()}


def counts(values: Iterable[str]) -> dict[str, int]:
    """How often each value occurs, by name."""
    return dict(sorted(Counter(values).items()))
