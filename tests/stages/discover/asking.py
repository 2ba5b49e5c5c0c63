"""Teachers for tests: answers made by a function, as an object or behind a loopback server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stages.params import TeacherParams
from stages.records import Message
from stages.teacher.client import Completion
from stages.teacher.errors import Failure, TeacherError
from stages.teacher.scripted import write

Asked = list[dict[str, Any]]
Answer = Callable[[Asked], str]


def by_reading(pairs: Asked) -> str:
    """The scripted teacher's answer."""
    return str(write({"role": "edges"}, [{"content": json.dumps(pairs)}])["content"])


def verdict(pair: dict[str, Any], label: str, direction: str = "forward", reason: str = "so it is") -> dict[str, str]:
    names = {"first": pair["first"]["name"], "second": pair["second"]["name"]}
    return {**names, "label": label, "direction": direction, "reason": reason}


def everything_is(label: str) -> Answer:
    """A teacher that sees one thing everywhere."""
    return lambda pairs: json.dumps([verdict(pair, label) for pair in pairs])


class Voice:
    """A teacher whose answers are made by a function."""

    def __init__(self, answer: Answer, model: str = "test/voice", temperature: float = 0.1) -> None:
        self.answer = answer
        self.params = TeacherParams(model=model, temperature=temperature)
        self.is_scripted = False
        self.asked: list[Asked] = []
        self.told: list[str] = []
        self.faults: list[tuple[str, bool]] = []

    def unusable(self, reason: Failure, cause: str, *, for_good: bool = True) -> TeacherError:
        self.faults.append((cause, for_good))
        return TeacherError(self.params.model, reason, cause)

    async def complete(self, messages: list[Message], **options: Any) -> Completion:
        self.asked.append(json.loads(messages[-1].content))
        self.told.append(messages[0].content)
        return Completion(Message("assistant", self.answer(self.asked[-1])), 1, 1, 0.0)


@contextmanager
def provider(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A chat completions endpoint on loopback: its address, and the requests that it got."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append(request)
            said = {"role": "assistant", "content": answer(json.loads(request["messages"][-1]["content"]))}
            body = {
                "id": "x", "object": "chat.completion", "created": 1, "model": "tester",
                "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }  # fmt: skip
            payload = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
