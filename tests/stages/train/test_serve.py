"""A policy over HTTP: the same answers as its sampler gives, and bad requests that say what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from servers.gateway.hosts import Hosts
from stages.train.policy import Policy
from stages.train.sampling import Sampler
from stages.train.serve import ChatRequest, application, complete, guarded, serve


@pytest.fixture
def policy(make_policy: Callable[..., Policy]) -> Policy:
    made = make_policy()
    made.network.eval()
    return made


@pytest.fixture
def client(policy: Policy) -> TestClient:
    return TestClient(application(policy, context=40))


def ask(client: TestClient, **changes: Any) -> Any:
    request = {"model": "any", "messages": [{"role": "user", "content": "123"}], "max_tokens": 6, "seed": 3, **changes}
    return client.post("/v1/chat/completions", json=request)


def test_the_answer_is_what_the_sampler_draws(client: TestClient, policy: Policy) -> None:
    from stages.records import Message
    from stages.train.order import mixed_seed

    sampler = Sampler(policy.network, policy.chat.stop_ids, temperature=1.0, seed=mixed_seed(3))
    sampler.start([policy.chat.opening((), [Message("user", "123")])])
    drawn = sampler.sample({0: 6})[0]
    answer = ask(client).json()
    assert answer["choices"][0]["message"]["content"] == policy.chat.parse(drawn.ids).content
    assert answer["usage"]["completion_tokens"] == len(drawn.ids)
    assert answer == ask(client).json(), "the same seed, the same answer"
    assert any(ask(client, seed=seed).json() != answer for seed in range(4, 12))


def test_the_end_of_a_reply_is_named(policy: Policy) -> None:
    said = [{"role": "user", "content": "123"}]
    requests = (ChatRequest.model_validate({"messages": said, "max_tokens": 12, "seed": n}) for n in range(200))
    choices = [complete(policy, request, 40)["choices"][0] for request in requests]
    assert {choice["finish_reason"] for choice in choices} == {"length", "stop", "tool_calls"}
    called = next(choice["message"] for choice in choices if choice["finish_reason"] == "tool_calls")
    assert called["tool_calls"][0]["function"]["name"] == "say"
    assert set(json.loads(called["tool_calls"][0]["function"]["arguments"])) == {"digits"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "1"}]}, "messages.0.role"),
        ({"temperature": 9}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        (
            {"messages": [{"role": "user", "content": "1" * 60}]},
            "the prompt has 62 tokens; this policy takes 39",
        ),
    ],
)
def test_bad_requests_say_what_is_wrong(client: TestClient, changes: dict[str, Any], complaint: str) -> None:
    answer = ask(client, **changes)
    assert answer.status_code == 400
    assert complaint in answer.json()["error"]["message"]
    assert client.post("/v1/chat/completions", content=b"{oops").status_code == 400


def test_it_says_that_it_is_there(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/v1/models").json()["data"][0]["id"] == "policy"


def test_only_pages_of_its_own_may_use_it(policy: Policy) -> None:
    app = guarded(application(policy, context=40), Hosts())
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", ""):
        told = TestClient(app, base_url="http://127.0.0.1:8000").get("/v1/models", headers={"Host": host})
        assert told.status_code == 421, host
    for base in ("http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"):
        client = TestClient(app, base_url=base)
        assert client.get("/health").status_code == client.get("/health", headers={"Origin": base}).status_code == 200
        for origin in ("http://evil.example", "null", "http://localhost.evil.example:8000"):
            told = client.post("/v1/chat/completions", content="{}", headers={"Origin": origin})
            assert told.status_code == 403, origin


def test_a_directory_without_weights_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        serve([str(tmp_path)])
    assert "holds no weights" in capsys.readouterr().err
