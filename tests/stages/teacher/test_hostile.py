"""An endpoint that means harm: it never finishes, lies about tokens, floods, redirects, or talks to the terminal."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stages.params import TeacherParams
from stages.records import Message
from stages.teacher import client
from stages.teacher.budget import Budget
from stages.teacher.client import LONGEST_ANSWER, Shared, Teacher
from stages.teacher.errors import Failure, TeacherError
from stages.teacher.ledger import Ledger
from tests.stages.teacher.loopback import KEY, Provider, Reply, ask, message, settings


def with_usage(prompt: int, completion: int) -> Reply:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": 1}
    return Reply(200, {**message("fine").body, "usage": usage})


@pytest.mark.parametrize(("prompt", "completion"), [(-1_000_000, 5), (5, -1), (10**400, 5), (5, 10**12)])
def test_a_count_of_tokens_that_cannot_be_true_moves_no_budget(
    provider: Provider, prompt: int, completion: int
) -> None:
    provider.answer = lambda request, number: with_usage(prompt, completion)
    budget, ledger = Budget(1.0), Ledger()
    teacher = Teacher(
        settings(provider, price={"prompt": 1e3, "completion": 1e3}), "query", Shared(ledger, None, budget)
    )
    with pytest.raises(TeacherError, match="cannot be true") as caught:
        asyncio.run(teacher.complete([Message("user", "hello")], script={}))
    assert caught.value.reason is Failure.UNREADABLE
    assert budget.spent == 0 == ledger.of("query").cost


@pytest.mark.parametrize(
    "reply", [message("a" * LONGEST_ANSWER + "a"), message(None, [("f", f'{{"a": "{"1" * (LONGEST_ANSWER - 9)}"}}')])]
)
def test_a_flood_is_refused(provider: Provider, reply: Reply) -> None:
    provider.answer = lambda request, number: reply
    with pytest.raises(TeacherError, match=r"unreadable: the answer has 1,000,001 characters"):
        ask(provider)


def test_words_of_an_endpoint_do_not_steer_the_terminal(provider: Provider) -> None:
    said = "\x1b]0;owned\x07\x1b[2J\u202etxt.exe\r\x9b31m"
    provider.answer = lambda request, number: Reply(400, {"error": {"message": said}})
    with pytest.raises(TeacherError) as caught:
        ask(provider)
    assert "\\x1b]0;owned\\x07\\x1b[2J\\u202etxt.exe" in str(caught.value) and str(caught.value).isprintable()


@contextmanager
def answering(handler: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port on loopback whose every connection is the handler's, once it has read the request's head."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=handler, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def head_of(connection: socket.socket) -> bytes:
    read = b""
    while b"\r\n\r\n" not in read:
        read += connection.recv(65536)
    return read


def send(port: int, **changes: Any) -> None:
    values: dict[str, Any] = {"model": "openai/t", "attempts": 1, "timeout": 5.0, **changes}
    teacher = Teacher(TeacherParams(api_base=f"http://127.0.0.1:{port}/v1", **values))
    asyncio.run(teacher.complete([Message("user", "hello")], script={}))


def test_an_answer_that_comes_in_drops_is_given_up(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then keeps every read within its time; the whole has a limit too."""
    monkeypatch.setattr(client, "OVERTIME", 1.0)

    def drip(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
        try:
            while True:
                connection.sendall(b" ")
                time.sleep(0.1)
        except OSError:
            connection.close()

    with answering(drip) as port, pytest.raises(TeacherError, match="timeout: the answer was not whole after 6 s"):
        send(port)


@pytest.mark.parametrize("model", ["openai/t", "hosted_vllm/t"])
def test_a_redirect_does_not_take_the_key_along(
    provider: Provider, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", KEY)
    first: list[bytes] = []
    caught: list[bytes] = []

    def catch(connection: socket.socket) -> None:
        caught.append(head_of(connection))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        connection.close()

    with answering(catch) as elsewhere:

        def redirect(connection: socket.socket) -> None:
            first.append(head_of(connection))
            place = f"Location: http://127.0.0.1:{elsewhere}/steal".encode()
            connection.sendall(b"HTTP/1.1 307 There\r\n" + place + b"\r\nContent-Length: 0\r\n\r\n")
            connection.close()

        with answering(redirect) as port, pytest.raises(TeacherError):
            send(port, model=model)
    assert KEY.encode() in first[0]
    assert not any(KEY.encode() in request for request in caught)
