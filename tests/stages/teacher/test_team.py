"""Teachers by role, what they cost, and a budget that holds over all attempts of a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from stages.artifacts import DATA, ArtifactError
from stages.params import DiscoverParams, ParamsError, TeacherParams, check_block
from stages.records import Message
from stages.stage import StageContext, execute
from stages.teacher.errors import BudgetReachedError, TeacherError
from stages.teacher.pricing import Price, price_of
from stages.teacher.team import ROLES, Teachers, open_teachers
from stages.tracking import Tracker
from tests.stages.teacher.loopback import KEY, Provider, message, settings

PRICE = {"prompt": 1000.0, "completion": 1000.0}
"""So that an answer of 14 tokens costs 1.4 cents."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def say(teachers: Teachers, role: Any, text: str = "x") -> str:
    return asyncio.run(teachers.of(role).complete([Message("user", text)], script={})).message.content


def test_each_role_has_its_own_model_and_sampling(provider: Provider) -> None:
    roles = {"assistant": {"model": "openai/strong", "api_base": provider.url, "temperature": 0.2, "max_tokens": 9}}
    teachers = Teachers(check_block(TeacherParams, settings(provider).model_dump() | {"roles": roles}, "teacher"))
    for role in ROLES:
        say(teachers, role)
    sent = dict(zip(ROLES, provider.requests, strict=True))
    assert {role: r["model"] for role, r in sent.items()} == dict.fromkeys(ROLES, "tester") | {"assistant": "strong"}
    assert (sent["assistant"]["temperature"], sent["assistant"]["max_tokens"]) == (0.2, 9)
    assert (sent["query"]["temperature"], sent["discover"]["temperature"]) == (0.7, 0.1)
    assert teachers.of("query") is teachers.of("query")


def test_a_role_with_its_own_model_does_not_inherit_address_and_price() -> None:
    params = TeacherParams.model_validate_json(
        json.dumps({"model": "hosted_vllm/a", "api_base": "http://h/v1", "price": PRICE,
                    "roles": {"user": {"model": "openai/b"}, "query": {"temperature": 0}}})
    )  # fmt: skip
    assert (params.of("user").api_base, params.of("user").price) == (None, None)
    assert params.of("query").api_base == "http://h/v1" and params.of("query").price is not None
    assert params.of("query").temperature == 0.0


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ({"roles": {"asistant": {}}}, "teacher.roles.asistant: unknown key; did you mean 'assistant'?"),
        ({"roles": {"user": {"modle": "x"}}}, "teacher.roles.user.modle: unknown key; did you mean 'model'?"),
        ({"price": {"prompt": 1, "completion": 1, "promt": 2}}, "did you mean 'prompt'?"),
        ({"budget": 0}, "teacher.budget"),
        ({"requests_per_minute": 0}, "teacher.requests_per_minute"),
        ({"serve": "vllm", "model": "openai/x"}, "hosted_vllm/<weights>"),
        ({"serve": "ollama"}, "teacher.serve"),
    ],
)
def test_mistakes_in_the_block_are_named(block: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ParamsError) as caught:
        check_block(TeacherParams, block, "teacher")
    assert complaint in str(caught.value)


def test_what_shapes_the_answers_is_told_from_what_limits_them() -> None:
    base = TeacherParams(model="openai/x")
    assert base.shaping() == TeacherParams(model="openai/x", budget=1.0, concurrency=2, cache=None).shaping()
    for change in ({"temperature": 0.1}, {"max_tokens": 5}, {"model": "openai/y"}, {"discover_temperature": 0.0}):
        assert base.shaping() != TeacherParams(**{"model": "openai/x", **change}).shaping()
    other = check_block(TeacherParams, {"model": "openai/x", "roles": {"user": {"model": "openai/z"}}}, "teacher")
    assert base.shaping() != other.shaping()


def test_prices_come_from_the_block_then_from_the_table() -> None:
    assert price_of(TeacherParams()) == Price(0, 0)
    assert price_of(TeacherParams(model="hosted_vllm/unheard-of")) is None
    known = price_of(TeacherParams(model="openai/gpt-4o-mini"))
    assert known is not None and known.prompt == pytest.approx(0.15) and known.completion == pytest.approx(0.6)
    own = check_block(TeacherParams, {"model": "openai/gpt-4o-mini", "price": PRICE}, "teacher")
    assert price_of(own) == Price(1000, 1000)
    assert Price(2.0, 8.0).of(1_000_000, 500_000) == 6.0


def test_the_table_of_prices_is_used_for_answers(provider: Provider) -> None:
    teachers = Teachers(settings(provider, model="openai/gpt-4o-mini"))
    say(teachers, "query")
    assert teachers.ledger.total.cost == pytest.approx((11 * 0.15 + 3 * 0.6) / 1e6)


def test_accounts_add_up_over_roles(provider: Provider) -> None:
    teachers = Teachers(settings(provider, price=PRICE))
    for role in ("query", "user", "user"):
        say(teachers, role)
    metrics = teachers.ledger.metrics()
    assert metrics["teacher/requests"] == len(provider.requests) == 3
    assert (metrics["teacher/user/requests"], metrics["teacher/query/prompt_tokens"]) == (2, 11)
    assert metrics["teacher/cost"] == pytest.approx(0.042) and metrics["teacher/user/cost"] == pytest.approx(0.028)
    assert teachers.ledger.summary()["roles"]["user"]["completion_tokens"] == 6


def budgeted(provider: Provider, budget: float = 0.03, **changes: Any) -> TeacherParams:
    return settings(provider, price=PRICE, budget=budget, cache=None, **changes)


def spend(params: TeacherParams, requests: int) -> None:
    with open_teachers(params, "synthesize") as teachers:
        for number in range(requests):
            say(teachers, "query", str(number))


def test_no_request_is_sent_once_the_budget_is_reached(provider: Provider) -> None:
    with pytest.raises(BudgetReachedError) as caught:
        spend(budgeted(provider), 10)
    assert len(provider.requests) == 3 and not isinstance(caught.value, TeacherError)
    told = str(caught.value)
    assert "$0.0420 of $0.0300" in told and "query $0.0420 in 3 requests" in told and "raise teacher.budget" in told


def test_the_budget_holds_over_all_attempts_until_the_run_is_finished(provider: Provider) -> None:
    for _ in range(3):
        with pytest.raises(BudgetReachedError):
            spend(budgeted(provider), 10)
    assert len(provider.requests) == 3
    spend(budgeted(provider, 1.0), 5)
    assert not (DATA / ".unfinished" / "teacher" / "synthesize.json").exists()
    spend(budgeted(provider), 2)
    assert len(provider.requests) == 10


def test_another_stage_has_its_own_budget(provider: Provider) -> None:
    with pytest.raises(BudgetReachedError):
        spend(budgeted(provider), 10)
    with open_teachers(budgeted(provider), "discover") as teachers:
        say(teachers, "discover")


def test_answers_from_the_cache_cost_nothing_of_the_budget(provider: Provider) -> None:
    params = settings(provider, price=PRICE, budget=0.03, cache="c.sqlite")
    with pytest.raises(BudgetReachedError):
        spend(params, 10)
    spend(params.model_copy(update={"budget": 0.05}), 3)
    assert len(provider.requests) == 3


def test_a_budget_wants_a_price(provider: Provider) -> None:
    teachers = Teachers(settings(provider, model="hosted_vllm/unheard-of", budget=1.0))
    with pytest.raises(ParamsError, match="nobody knows what hosted_vllm/unheard-of costs"):
        teachers.of("query")


def test_a_stage_whose_budget_is_reached_ends_with_1_and_one_line(
    provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("params.yaml").write_text("bootstrap: {servers: [banking]}")

    def main(ctx: StageContext[DiscoverParams]) -> list[Path]:
        spend(budgeted(provider), 10)
        return []

    code = execute("discover", DiscoverParams, main, Path("params.yaml"), Tracker("discover", enabled=False))
    shown = capsys.readouterr().err
    assert code == 1 and shown.splitlines()[-1].startswith("discover: the teacher's budget is reached")
    assert "Traceback" not in shown and KEY not in shown


def test_accounts_are_shown_also_after_an_error(provider: Provider, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), open_teachers(settings(provider, price=PRICE), "x") as teachers:
        say(teachers, "query")
        raise ZeroDivisionError
    assert "0.0140" in capsys.readouterr().err


def test_the_scripted_teacher_leaves_no_trace(tmp_path: Path) -> None:
    with open_teachers(TeacherParams(), "synthesize") as teachers:
        assert teachers.scripted
    assert list(tmp_path.iterdir()) == []


def test_roles_that_share_a_model_share_its_limits(provider: Provider) -> None:
    provider.answer = lambda request, number: message("ok")
    teachers = Teachers(settings(provider, concurrency=1))
    assert teachers.of("query")._limits is teachers.of("user")._limits


def test_a_cache_that_cannot_be_used_ends_the_stage(provider: Provider, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"teacher\.cache"):
        spend(settings(provider, cache=str(tmp_path)), 1)
