"""The whole stage with a teacher behind HTTP that is good most of the time: what is kept, what is not, and why."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from stages import artifacts
from stages.artifacts import DATA, REPORTS, read_json, read_table
from stages.conversations import CONVERSATIONS, Conversation, from_row
from stages.discover.edges import CHAINS
from stages.params import SynthesizeParams, TeacherParams, check_block
from stages.stage import execute
from stages.synthesize import __main__ as stage
from stages.synthesize.writer import Writer
from stages.teacher import retry
from stages.teacher.estimate import Rehearsal
from stages.tracking import Tracker
from stages.validate.provenance import check_provenance
from stages.validate.replay import check_replay
from stages.validate.structure import check_structure
from tests.stages.synthesize.writing import SERVERS, catalog, chains, context, jobs, params
from tests.stages.teacher.loopback import KEY, Provider, Reply, message, refusal, settings
from tests.stages.teacher.oracle import Oracle

COUNT = 14
PRICE = {"prompt": 1000.0, "completion": 1000.0}
PARAMS = {"seed": 7, "bootstrap": {"servers": list(SERVERS)}, "synthesize": {"conversations": COUNT}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stage, "SHARD_SIZE", 4)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    stamp = artifacts.Stamp(catalog().fingerprint, "")
    rows = [{"id": c.id, "server": c.server, "tools": c.tools, "labels": c.labels} for c in chains()]
    artifacts.write_table(DATA / "graph" / "chains.parquet", CHAINS, rows, stamp)
    return tmp_path


def run(provider: Provider, main: Any = stage.main, **changes: Any) -> int:
    teacher = settings(provider, **{"attempts": 3, "price": PRICE, **changes}).model_dump(mode="json")
    Path("params.yaml").write_text(yaml.safe_dump({**PARAMS, "teacher": teacher}), encoding="utf-8")
    return execute("synthesize", SynthesizeParams, main, Path("params.yaml"), Tracker("synthesize", enabled=False))


def written() -> dict[int, Conversation]:
    rows = read_table(DATA / "conversations" / "conversations.parquet", CONVERSATIONS, catalog().fingerprint)
    return {int(made.id.removeprefix("conv-")): made for made in map(from_row, rows)}


def reason(made: Conversation) -> str | None:
    found = check_structure(made) or check_provenance(catalog(), made) or check_replay(catalog(), made, 0.3)
    return found.reason.value if found else None


class Unreliable:
    """The oracle, but some conversations meet a fault of the endpoint or of the model."""

    def __init__(self) -> None:
        self.oracle = Oracle(COUNT)
        acting = [n for n, turns in enumerate(self.oracle.turns) if turns and turns[0].assistant["batches"]]
        self.fault = dict(zip(acting, FAULTS, strict=False))
        self.asked: Counter[int] = Counter()
        self.served: Counter[str] = Counter()

    def __call__(self, request: dict[str, Any], number: int) -> Reply:
        index = request["seed"]
        self.asked[index] += 1
        reply = FAULTS.get(self.fault.get(index, ""), good)(self, request, self.asked[index] == 1)
        if isinstance(reply.body, dict) and reply.body.get("usage") and not reply.cut:
            self.served["paid"] += 1
        return reply


def good(self: Unreliable, request: dict[str, Any], first: bool) -> Reply:
    return self.oracle(request, 0)


def once(bad: Reply) -> Any:
    return lambda self, request, first: bad if first else self.oracle(request, 0)


def acting(change: Any) -> Any:
    """A fault of the acting model alone."""
    return lambda self, request, first: change(self, request) if request.get("tools") else self.oracle(request, 0)


def opening(request: dict[str, Any]) -> bool:
    return str(request["messages"][-1]["role"]) == "user"


def invented(self: Unreliable, request: dict[str, Any]) -> Reply:
    """Passes a query nobody asked for, in place of the plan."""
    plan = [("list_accounts", "{}"), ("list_payees", '{"query": "Zzyzx"}')]
    return message(None, plan) if opening(request) else message("Done.")


def only(name: str, arguments: str) -> Any:
    """One bad call, and giving up."""
    return lambda self, request: message(None, [(name, arguments)]) if opening(request) else message("No.")


FAULTS: dict[str, Any] = {
    "busy": once(refusal(429)),
    "broken": once(refusal(500)),
    "cut off": once(Reply(200, message("half of it").body, cut=True)),
    "down": lambda self, request, first: refusal(503),
    "garbled": once(Reply(200, "{not json")),
    "empty": acting(lambda self, request: message("")),
    "cut short": acting(lambda self, request: message("I will", finish="length")),
    "bad arguments": acting(only("list_cards", '{"a": ')),
    "unknown tool": acting(only("rm_rf", "{}")),
    "invented": acting(invented),
}
RECOVERED = {"busy", "broken", "cut off"}
UNWRITTEN = {
    "down": "server_error", "garbled": "unreadable", "empty": "empty", "cut short": "truncated",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_good_rows_are_kept_and_bad_ones_told(provider: Provider, project: Path) -> None:
    provider.answer = endpoint = Unreliable()
    assert set(endpoint.fault.values()) == set(FAULTS), "the draw has too few conversations that act"
    assert run(provider) == 0
    made, metrics = written(), read_json(REPORTS / "metrics" / "synthesize.json")

    lost = {n for n, fault in endpoint.fault.items() if fault in UNWRITTEN}
    assert set(made) == {n for n, turns in enumerate(endpoint.oracle.turns) if turns} - lost
    assert metrics["unwritten"]["teacher_failed"] == len(lost)
    for number, conversation in made.items():
        fault = endpoint.fault.get(number, "")
        if fault in RECOVERED or not fault:
            assert reason(conversation) is None, (number, fault)
        elif fault == "invented":
            assert reason(conversation) == "untraced_argument"
        else:
            failed = [call for turn in conversation.turns for call in turn.calls if not call.ok]
            assert failed and reason(conversation) == "error_rate"
            assert not any(turn.truth for turn in conversation.turns)

    accounts = metrics["teacher"]
    assert accounts["requests"] == len(provider.requests)
    assert accounts["prompt_tokens"] == 11 * endpoint.served["paid"]
    assert accounts["cost"] == pytest.approx(0.014 * endpoint.served["paid"])
    kinds = {name.removeprefix("failures/"): n for name, n in accounts.items() if name.startswith("failures/")}
    assert kinds == {"rate_limited": 1, "server_error": 1 + 3, "connection": 1,
                     "unreadable": 1, "empty": 1, "truncated": 1}  # fmt: skip
    assert accounts["retries"] == 3 + 2 and accounts["failed"] == len(lost)
    assert sum(role["requests"] for role in accounts["roles"].values()) == accounts["requests"]
    stored = b"".join(path.read_bytes() for path in project.rglob("*") if path.is_file())
    assert KEY.encode() not in stored


@pytest.mark.timeout(120)
def test_a_run_that_reached_its_budget_goes_on_where_it_stopped(
    provider: Provider, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = Oracle(COUNT)
    assert run(provider) == 0
    whole, total = written(), len(provider.requests)
    provider.requests.clear()
    Path(".cache/teacher.sqlite").unlink()
    provider.answer = Oracle(COUNT)
    assert run(provider, budget=0.014 * total / 2, concurrency=1) == 1
    assert "the teacher's budget is reached" in capsys.readouterr().err
    assert list((DATA / ".unfinished" / "synthesize").rglob("0*.json")), "finished shards are kept"
    asked = len(provider.requests)
    assert run(provider, budget=0.014 * total / 2, concurrency=1) == 1
    assert len(provider.requests) == asked, "the same budget buys nothing more"
    assert run(provider, budget=0.014 * total * 2, concurrency=1) == 0
    assert len(provider.requests) == total and written() == whole


def test_a_dry_run_asks_nothing_and_comes_near_the_truth(
    provider: Provider, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(provider, stage.dry_run) == 0
    shown = capsys.readouterr().out
    assert not provider.requests and not list(project.rglob("conversations.parquet"))
    assert "assistant" in shown and "14 of 14 conversations are left" in shown

    price = {"prompt": 2.0, "completion": 4.0}
    rehearsal = Rehearsal(check_block(TeacherParams, {"model": "openai/tester", "price": price}, "teacher"))
    chosen = params(conversations=COUNT)
    asyncio.run(Writer(context(chosen), chains(), rehearsal).shard(jobs(chosen)))
    said = rehearsal.estimate()
    provider.answer = Oracle(COUNT)
    assert run(provider) == 0
    parts = [part for r in provider.requests for part in (*r["messages"], *r.get("tools", ()))]
    size = sum(len(json.dumps(part, ensure_ascii=False)) for part in parts)
    assert sum(share.requests for share in said.shares) == len(provider.requests)
    prompt = sum(share.prompt_tokens for share in said.shares)
    assert prompt == pytest.approx(size / 4, rel=0.02)
    answers = sum(share.completion_tokens for share in said.shares)
    assert said.cost == pytest.approx((2 * prompt + 4 * answers) / 1e6)
    twice = rehearsal.estimate(2.0)
    assert [s.requests for s in twice.shares] == [2 * s.requests for s in said.shares]


def test_a_teacher_that_fails_every_conversation_ends_the_stage_with_the_cause(
    provider: Provider, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.answer = lambda request, number: refusal(401)
    assert run(provider) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert f"none of {COUNT} conversations could be written; the first: teacher_failed" in told and "refused" in told
    assert not (DATA / "conversations").exists()
    before = len(provider.requests)
    assert run(provider) == 1 and len(provider.requests) > before  # nothing of the failure was kept
