"""A small made-up run, as the other stages would leave it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stages.artifacts import Stamp, write_json, write_table, write_text
from stages.report.__main__ import write_report
from stages.report.inputs import Inputs
from stages.report.sections.episodes import COLUMNS

STAMP = Stamp("feedc0de", "0")
HOSTILE = "<script>alert('1')</script>\"><img src=x onerror=alert(2)>"
PARTS = ("validity", "coverage", "efficiency", "name", "arguments")
TOOLS = pa.schema(
    [("server", pa.string()), ("name", pa.string()), ("read_only", pa.bool_()), ("destructive", pa.bool_())]
)
EPISODES = pa.schema([(name, pa.string()) for name in COLUMNS])


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
    mean = {"mean": 0.5, "low": 0.4, "high": 0.6}
    rate = {**mean, "rows": 25}
    bfcl = {"overall": 0.01, "interval": [0.0, 0.03], "categories": [{"category": "base", "passed": 2, "scored": 200}]}
    policy = {"masked": 0, "reward": mean, "parts": dict.fromkeys(PARTS, mean), "solved": rate, "abstained": rate}
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
            "per_server": {name: {"explicit": 3, "implicit": 1, "chains": 20} for name in ("banking", "budget")},
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
            "cost": 0.0,
        },
        "validate": {
            "accepted": 90,
            "rejected": 10,
            "reasons": {"near_duplicate": 7, "replay": 3},
            "kinds": {"multi_turn": 90},
            "rows": {"train": 120, "val": 20, "test": 25},
            "sft_rows": 70,
        },
        "evaluate": {
            "policies": dict.fromkeys(("base", "sft", "policy"), policy),
            "differences": {
                "policy-base": {"mean": 0.21, "low": 0.1, "high": 0.3, "rows": 25},
                "policy-sft": {"mean": 0.01, "low": -0.05, "high": 0.06, "rows": 25},
            },
            "bfcl": {
                "controls": [{"name": "gold_replay", "passed": 800, "total": 800, "expected": 800}],
                "measurement": {
                    "benchmark": "bfcl",
                    "version": "2026.3.23",
                    "sample": None,
                    "summary": bfcl,
                    "do_nothing": bfcl,
                },
                "prompts_too_long": 3,
            },
        },
    }


def episode(text: str) -> dict[str, str]:
    """An episode whose user says `text`."""
    call = {"id": "1", "name": "get_account", "arguments": {"account_id": "ACC-1", "note": text}}
    messages = [
        {"role": "user", "content": text, "tool_calls": [], "tool_call_id": ""},
        {"role": "assistant", "content": "", "tool_calls": [call], "tool_call_id": ""},
        {"role": "tool", "content": '{"balance": "12.00 EUR"}', "tool_calls": [], "tool_call_id": "1"},
    ]
    return {
        "row": "c-1/0",
        "policy": "policy",
        "server": "banking",
        "kind": "multi_turn",
        "messages": json.dumps(messages),
        "truth": json.dumps([{"name": "get_account", "arguments": {"account_id": "ACC-1"}, "depends_on": []}]),
        "reward": json.dumps({"total": 1.05, **dict.fromkeys(PARTS, 1.0)}),
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
    tools = [
        {"server": server, "name": f"{server}_{kind}", "read_only": kind == "read", "destructive": kind == "drop"}
        for server in ("banking", "budget")
        for kind in ("read", "write", "drop")
    ]
    write_table(data / "catalog" / "tools.parquet", TOOLS, tools, STAMP)
    write_table(data / "scores" / "episodes.parquet", EPISODES, [episode(HOSTILE)], STAMP)
    sft = [{"step": n, "loss": 2 / n, "grad_norm": 1.0, "lr": 1e-4} for n in range(1, 20)]
    grpo = [{"step": n, "reward": n / 20, "kl": 0.01 * n, "entropy": 1 / n} for n in range(1, 20)]
    write_text(data / "policy" / "sft_log.jsonl", "\n".join(map(json.dumps, sft)))
    write_text(data / "policy" / "grpo_log.jsonl", "\n".join(map(json.dumps, grpo)))
    document = {"seed": 7, "teacher": {"model": HOSTILE}, "bootstrap": {"servers": ["banking", "budget"]}}
    return Inputs(data, reports, document)
