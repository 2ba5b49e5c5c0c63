"""A small made-up run, as the other stages would leave it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stages.artifacts import Stamp, write_json, write_text
from stages.report.__main__ import write_report
from stages.report.inputs import Inputs
from tests.stages.report.made import CATALOG, write_run

STAMP = Stamp("feedc0de", "0")
HOSTILE = "<script>alert('1')</script>\"><img src=x onerror=alert(2)>"
PARTS = ("validity", "coverage", "efficiency", "name", "arguments")


def metrics() -> dict[str, dict[str, Any]]:
    """The metrics of every stage, by its name."""
    servers = [
        {
            "server": name,
            "tools": 3,
            "rows": 1200,
            "entities": ["account"],
            "error_codes": ["not_found"],
            "seed_hash": "0" * 32,
            "healthy": name != "budget",
            "detail": "answers nothing" if name == "budget" else "",
        }
        for name in ("banking", "budget")
    ]
    score = {"claimed": 5, "proved": 4, "agreed": 3, "precision": 0.6, "recall": 0.75, "f1": 2 / 3}
    scores = {"explicit": score, "implicit": dict.fromkeys(score, None), "both": score}
    mean = {"mean": 0.5, "low": 0.4, "high": 0.6}
    rate = {**mean, "rows": 25}
    base = {"category": "base", "passed": 2, "scored": 200, "masked": 1, "errors": 0, "rate": 0.01}
    bfcl = {"overall": 0.01, "interval": [0.0, 0.03], "categories": [base]}
    floor = {"overall": 0.0, "interval": [0.0, 0.01], "categories": [{**base, "passed": 0, "rate": 0.0, "masked": 0}]}
    habits = dict.fromkeys(("solved", "recovered", "abstained", "abstention_precision", "clarified"), rate)
    parts = dict.fromkeys(PARTS, mean)
    policy = {"rows": 25, "masked": 0, "reward": mean, "parts": parts, "calls_over_budget": mean, **habits}
    difference = {"mean": 0.21, "low": 0.1, "high": 0.3, "rows": 25}
    return {
        "bootstrap": {"fingerprint": "feedc0de", "tools": 6, "servers": servers},
        "discover": {
            "tools": 6,
            "edges": 7,
            "explicit": 5,
            "implicit": 2,
            "chains": 40,
            "chain_lengths": {"2": 30, "3": 10},
            "tools_in_chains": 6,
            "teacher_precision": 0.91,
            "teacher_recall": 0.8,
            "teacher": {"prompt": "0f", "pairs": 9, "unanswered": 2, **scores},
            "per_server": {
                name: {"explicit": 3, "implicit": 1, "chains": 20, "unanswered": 1, "teacher": scores}
                for name in ("banking", "budget")
            },
            "disagreements": {
                "count": 4,
                "kinds": {"explicit, executed none": 4},
                "foremost": [
                    {
                        "server": "banking",
                        "first": "list_cards",
                        "second": "freeze_card",
                        "teacher": "explicit",
                        "executed": "none",
                        "evidence": "no run of list_cards shows a card",
                        "reason": HOSTILE,
                    }
                ],
            },
        },
        "synthesize": {
            "conversations": 100,
            "unwritten": {"no_plan": 2},
            "kinds": {"multi_turn": 81, "clarification": 11, "abstention": 8},
            "information": {"complete": 60, "missing": 12, "minimal": 9},
            "perturbations": {"distractors": 40},
            "user_turns": 180,
            "calls": 300,
            "failed_calls": 30,
            "error_codes": {"not_found": 30},
            "tools_called": 6,
            "transitions": {"ASK --call--> WAIT": 300},
            "rates": {"distractors": {"wanted": 0.4, "achieved": 0.41}},
            "diversity": {
                "requests": {
                    "texts": 180,
                    "words": 9.5,
                    "distinct_1": 0.2,
                    "distinct_2": 0.5,
                    "distinct_3": 0.7,
                    "self_bleu": 0.4,
                },
                "turns": {"2": 80, "3": 20},
                "chain_lengths": {"2": 70, "3": 30},
                "chains": 40,
                "tools": 6,
                "tools_shown": 6,
                "entities": 12,
            },
            "cost": 0.0,
        },
        "validate": {
            "accepted": 90,
            "rejected": 10,
            "reasons": {"near_duplicate": 7, "replay": 3},
            "kinds": {"multi_turn": 90},
            "rows": {"train": 120, "val": 20, "test": 25},
            "sft_rows": 70,
            "acceptance_rate": 0.9,
            "over_quota": {"multi_turn": 3},
            "provenance": {"literals": 4, "traced": 1.0, "sources": {"user": 3, "result": 1}},
            "leakage": {"test_rows": 25, "chains": 0.0, "entities": 0.5, "phrasing": 0.25},
            "decontamination": {
                "ngram": 8,
                "checked": [
                    {
                        "benchmark": "bfcl_multi_turn",
                        "version": "2026.3.23",
                        "questions": 1161,
                        "overlaps": 1,
                        "examples": [{"conversation": "c", "text": HOSTILE, "shared": "alert"}],
                    }
                ],
                "not_at_hand": {"teval": "no directory"},
            },
            "diversity": {
                "ours": {
                    "texts": 90,
                    "words": 12.5,
                    "distinct_1": 0.3,
                    "distinct_2": 0.7,
                    "distinct_3": 0.9,
                    "self_bleu": 0.4,
                }
            },
        },
        "evaluate": {
            "policies": dict.fromkeys(("base", "sft", "policy"), policy),
            "differences": {
                "policy-base": difference,
                "policy-sft": {"mean": 0.01, "low": -0.05, "high": 0.06, "rows": 25},
            },
            "do_nothing": policy,
            "unseen": {"worlds": {"policies": {"policy": policy}, "differences": {}, "do_nothing": policy}},
            "benchmarks": {
                "bfcl": {
                    "benchmark": "bfcl_multi_turn",
                    "version": "2026.3.23",
                    "sample": "all",
                    "tasks": 200,
                    "controls": [{"name": "gold_replay", "passed": 800, "total": 800, "expected": 800}],
                    "agents": {"policy": {"summary": bfcl, "official": {"partial_f1": 0.25}, "prompts_too_long": 3}},
                    "do_nothing": floor,
                    "differences": {},
                },
            },
            "unavailable": {"teval": "It needs a data directory."},
        },
        "evaluate_costs": {"bfcl": {"policy": {"seconds": 12.5, "completion_tokens": 900, "cost": 0.25}}},
    }


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    """A run of one's own, to be damaged."""
    return make_run(tmp_path)


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """A run with its report, to be looked at."""
    run = make_run(tmp_path_factory.mktemp("run"))
    write_report(run)
    return run


def make_run(root: Path) -> Inputs:
    """Write the artefacts of a run under a directory."""
    data, reports = root / "data", root / "reports"
    for stage, values in metrics().items():
        write_json(reports / "metrics" / f"{stage}.json", values)
    write_run(data, STAMP, HOSTILE)
    sft = [{"step": n, "loss": 2 / n, "grad_norm": 1.0, "lr": 1e-4} for n in range(1, 20)]
    grpo = [{"step": n, "reward": n / 20, "kl": 0.01 * n, "entropy": 1 / n} for n in range(1, 20)]
    write_text(data / "policy" / "sft_log.jsonl", "\n".join(map(json.dumps, sft)))
    write_text(data / "policy" / "grpo_log.jsonl", "\n".join(map(json.dumps, grpo)))
    document = {"seed": 7, "teacher": {"model": HOSTILE}, "bootstrap": {"servers": ["banking", "budget"]}}
    return Inputs(data, reports, document, catalog=CATALOG)
