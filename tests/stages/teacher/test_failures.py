"""An endpoint that misbehaves on purpose: every failure is recovered from, or told by its kind."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from email.utils import formatdate
from typing import Any

import pytest

from stages.params import ParamsError, TeacherParams
from stages.records import Message
from stages.teacher import retry
from stages.teacher.client import Completion, Shared, Teacher
from stages.teacher.errors import Failure, TeacherError
from stages.teacher.ledger import Ledger
from stages.teacher.retry import pause, retry_after_of
from tests.stages.teacher.loopback import KEY, Provider, Reply, message, refusal, settings

GOOD = message("good")
CUT = Reply(200, GOOD.body, cut=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)


def ask(provider: Provider, ledger: Ledger, **changes: Any) -> Completion:
    teacher = Teacher(settings(provider, **changes), "query", Shared(ledger))
    return asyncio.run(teacher.complete([Message("user", "hello")], script={}))


@pytest.mark.parametrize("model", ["openai/tester", "hosted_vllm/tester"])
@pytest.mark.parametrize(
    ("bad", "reason", "again"),
    [
        (refusal(429), Failure.RATE_LIMITED, True),
        (refusal(500), Failure.SERVER_ERROR, True),
        (refusal(503), Failure.SERVER_ERROR, True),
        (CUT, Failure.CONNECTION, True),
        (refusal(400), Failure.REFUSED, False),
        (refusal(401), Failure.REFUSED, False),
        (refusal(403), Failure.REFUSED, False),
        (refusal(404), Failure.REFUSED, False),
        (Reply(200, "{broken"), Failure.UNREADABLE, False),
        (Reply(200, {"choices": []}), Failure.UNREADABLE, False),
        (message(""), Failure.EMPTY, False),
        (message("<think>all in all"), Failure.EMPTY, False),
        (message("and so", finish="length"), Failure.TRUNCATED, False),
    ],
)
def test_what_may_pass_is_asked_again_and_the_rest_is_told_by_its_kind(
    provider: Provider, model: str, bad: Reply, reason: Failure, again: bool
) -> None:
    provider.answer = lambda request, number: GOOD if number else bad
    ledger = Ledger()
    if again:
        assert ask(provider, ledger, model=model, attempts=3).message.content == "good"
    else:
        with pytest.raises(TeacherError, match=rf"^{model}: {reason}: ") as caught:
            ask(provider, ledger, model=model, attempts=3)
        assert caught.value.reason is reason
    use = ledger.of("query")
    assert use.failures == {reason: 1}
    assert (use.requests, use.retries, use.failed) == ((2, 1, 0) if again else (1, 0, 1))
    assert len(provider.requests) == use.requests


def test_a_slow_answer_is_asked_for_again(provider: Provider) -> None:
    release, ledger = threading.Event(), Ledger()

    def answer(request: dict[str, Any], number: int) -> Reply:
        if number == 0:
            release.wait(3)
        return GOOD

    provider.answer = answer
    assert ask(provider, ledger, timeout=0.3, attempts=2).message.content == "good"
    release.set()
    assert ledger.of("query").failures == {Failure.TIMEOUT: 1}


def test_a_provider_that_is_not_there_is_a_connection_failure(provider: Provider) -> None:
    ledger = Ledger()
    with pytest.raises(TeacherError) as caught:
        ask(provider, ledger, api_base="http://127.0.0.1:9/v1", attempts=2)
    assert caught.value.reason is Failure.CONNECTION
    assert ledger.of("query").failures == {Failure.CONNECTION: 2}


def test_a_wait_that_the_provider_asks_for_is_kept(provider: Provider) -> None:
    times: list[float] = []

    def answer(request: dict[str, Any], number: int) -> Reply:
        times.append(time.monotonic())
        return GOOD if number else refusal(429, "1")

    provider.answer = answer
    ask(provider, Ledger(), attempts=2)
    assert 1.0 <= times[1] - times[0] < 4.0


def test_a_provider_that_asks_for_an_hour_is_not_waited_for(provider: Provider) -> None:
    provider.answer = lambda request, number: refusal(429, "3600")
    with pytest.raises(TeacherError, match="rate_limited"):
        ask(provider, Ledger(), attempts=5)
    assert len(provider.requests) == 1


def test_backoff_doubles_with_jitter_and_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 1.0)
    for attempt in range(1, 20):
        full = min(60.0, 2.0 ** (attempt - 1))
        waits = {pause(attempt, None) for _ in range(50)}
        assert all(full / 2 <= wait <= full for wait in waits) and len(waits) > 40
    assert pause(1, 7.5) == 7.5


def answered_with(header: str) -> Exception:
    error = Exception()
    error.litellm_response_headers = {"retry-after": header}  # type: ignore[attr-defined]
    return error


def test_both_forms_of_retry_after_are_read() -> None:
    assert [retry_after_of(answered_with(header)) for header in ("7", "0.5", "-3")] == [7, 0.5, 0]
    dated = retry_after_of(answered_with(formatdate(time.time() + 90, usegmt=True)))
    assert dated is not None and 60 < dated <= 90


@pytest.mark.parametrize("header", ["", "soon", "nan-ish"])
def test_a_header_that_says_nothing_is_none(header: str) -> None:
    assert retry_after_of(answered_with(header)) is None
    assert retry_after_of(Exception()) is None


def test_answers_that_cannot_be_used_are_paid_for_all_the_same(provider: Provider) -> None:
    replies = [message(""), message("cut", finish="length"), GOOD]
    provider.answer = lambda request, number: replies[number]
    ledger = Ledger()
    for _ in range(2):
        with pytest.raises(TeacherError):
            ask(provider, ledger, price={"prompt": 1.0, "completion": 10.0})
    ask(provider, ledger, price={"prompt": 1.0, "completion": 10.0})
    use = ledger.of("query")
    assert (use.prompt_tokens, use.completion_tokens) == (33, 9)
    assert use.cost == pytest.approx(33e-6 + 90e-6)


def test_reasoning_is_no_part_of_an_answer(provider: Provider) -> None:
    provider.answer = lambda request, number: message("<think>\nhm </think>\n\nYes.", [("f", "{}")])
    done = ask(provider, Ledger())
    assert done.message.content == "Yes." and done.message.tool_calls[0].name == "f"


def test_a_truncated_answer_is_handed_over_to_who_wants_it(provider: Provider) -> None:
    provider.answer = lambda request, number: message("and so", finish="length")
    teacher = Teacher(settings(provider))
    done = asyncio.run(teacher.complete([Message("user", "hello")], script={}, whole=False))
    assert done.truncated and done.message.content == "and so"


@pytest.mark.parametrize("model", ["openai/tester", "hosted_vllm/tester"])
def test_a_key_that_the_provider_repeats_is_told_nowhere(
    provider: Provider,
    model: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    ledger, told = Ledger(), []
    for status in (400, 401, 403, 404, 429, 500):
        provider.answer = lambda request, number, status=status: refusal(status)
        with pytest.raises(TeacherError) as caught:
            ask(provider, ledger, model=model)
        told.append(str(caught.value))
    shown = capfd.readouterr()
    assert provider.keys == {f"Bearer {KEY}"} and "<OPENAI_API_KEY>" in told[0] + told[1]
    everything = "".join(told) + caplog.text + shown.out + shown.err + str(ledger.summary()) + str(ledger.metrics())
    assert KEY not in everything


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(ParamsError, match="environment variables") as caught:
        Teacher(TeacherParams(model="openai/x", api_base="https://user:hunter22@example.org/v1"))
    assert "hunter22" not in str(caught.value)
