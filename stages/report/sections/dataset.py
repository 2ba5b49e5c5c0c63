"""The dataset: what was accepted, why the rest was rejected, where values come from, and what training has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report.blocks import Block, Facts, Note, Table, number, share
from stages.report.inputs import Inputs
from stages.report.plots import Plotter

SOURCES = {
    "user": "said by the user",
    "result": "shown by an earlier result",
    "default": "the schema's default",
    "choice": "free choice in a lookup",
}


def build(inputs: Inputs, plots: Plotter) -> Sequence[Block]:
    """Counts, rejections by reason, provenance, leakage, decontamination and diversity."""
    metrics = inputs.metrics("validate")
    accepted, rejected = metrics["accepted"], metrics["rejected"]
    facts = Facts(
        [
            ("accepted", f"{accepted:,}"),
            ("rejected", f"{rejected:,}"),
            ("acceptance", f"{metrics['acceptance_rate']:.1%}"),
            ("over quota", f"{sum(metrics['over_quota'].values()):,}"),
            *((f"{split} rows", f"{count:,}") for split, count in metrics["rows"].items()),
            ("SFT rows", f"{metrics['sft_rows']:,}"),
        ]
    )
    kinds = sorted(metrics["kinds"].items(), key=lambda item: (-item[1], item[0]))
    return [
        facts,
        Table("Accepted, by kind", ["kind", "count", "share"], [(k, n, share(n, accepted)) for k, n in kinds]),
        _rejections(metrics["reasons"], plots),
        _provenance(metrics["provenance"]),
        _leakage(metrics["leakage"]),
        *_decontamination(metrics["decontamination"]),
        _diversity(metrics["diversity"]),
    ]


def _rejections(reasons: Mapping[str, int], plots: Plotter) -> Block:
    if not reasons:
        return Note("Nothing was rejected.")
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return plots.bars(
        "rejections",
        "Conversations rejected, by reason",
        [name for name, _ in ordered],
        {"conversations": [count for _, count in ordered]},
    )


def _provenance(traced: Mapping[str, Any]) -> Block:
    sources, literals = traced["sources"], traced["literals"]
    return Table(
        f"Origin of the {literals:,} literals in the ground truth ({traced['traced']:.1%} traced)",
        ["origin", "literals", "share"],
        [(told, sources.get(name, 0), share(sources.get(name, 0), literals)) for name, told in SOURCES.items()],
    )


def _leakage(seen: Mapping[str, Any]) -> Block:
    return Table(
        f"Share of the {seen['test_rows']:,} test rows of which training has seen …",
        ["… the", "share"],
        [
            ("chain", f"{seen['chains']:.1%}"),
            ("identifiers, all of them", f"{seen['entities']:.1%}"),
            ("phrasing, values masked", f"{seen['phrasing']:.1%}"),
        ],
    )


def _decontamination(found: Mapping[str, Any]) -> list[Block]:
    rows = [(item["benchmark"], item["version"], item["questions"], item["overlaps"]) for item in found["checked"]]
    absent = [f"{name} ({why})" for name, why in found["not_at_hand"].items()]
    caption = f"Conversations that repeat {found['ngram']} words of a benchmark's question; they are rejected"
    blocks: list[Block] = [Table(caption, ["benchmark", "version", "questions", "repeats"], rows)]
    examples = [(i["benchmark"], e["text"], e["shared"]) for i in found["checked"] for e in i["examples"]]
    if examples:
        blocks.append(Table("Examples of repeats", ["benchmark", "user's text", "shared"], examples, folded=True))
    if absent:
        blocks.append(Note(f"Not compared with: {'; '.join(absent)}."))
    return blocks


def _diversity(sets: Mapping[str, Mapping[str, float]]) -> Block:
    return Table(
        "Variety of user texts, by samples of one size (self-BLEU: lower is more varied)",
        ["texts of", "texts", "words", "distinct-1", "distinct-2", "distinct-3", "self-BLEU"],
        [
            (
                name,
                f"{item['texts']:,}",
                number(item["words"], 1),
                *(number(item[f"distinct_{n}"]) for n in (1, 2, 3)),
                number(item["self_bleu"]),
            )
            for name, item in sets.items()
        ],
    )
