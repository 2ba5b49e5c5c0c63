"""A chat completions endpoint on loopback that answers, and misbehaves, as a test tells it to."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stages.params import TeacherParams
from stages.records import Message
from stages.teacher.client import Completion, Teacher

KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True)
class Reply:
    """What the endpoint sends: a body as JSON, or as it is if it is text; `cut` breaks off in its middle."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


@dataclass
class Provider:
    """The endpoint; `answer` sees each request and its number."""

    answer: Callable[[dict[str, Any], int], Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    url: str = ""


def message(content: str | None, calls: list[tuple[str, str]] | None = None, finish: str | None = None) -> Reply:
    tool_calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls or [])
    ]
    said: dict[str, Any] = {"role": "assistant", "content": content}
    if tool_calls:
        said["tool_calls"] = tool_calls
    choice = {"index": 0, "finish_reason": finish or ("tool_calls" if tool_calls else "stop"), "message": said}
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "tester"}
    return Reply(200, {**head, "choices": [choice], "usage": usage})


def refusal(status: int, retry_after: str = "0") -> Reply:
    """An error that repeats the key, as careless providers do."""
    error = {"message": f"status {status} for {KEY}", "type": "test", "code": str(status)}
    return Reply(status, {"error": error}, {"Retry-After": retry_after})


@contextmanager
def listening() -> Iterator[Provider]:
    """The endpoint, up until the block ends."""
    state = Provider(lambda request, number: message("fine"))
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(state.requests)
                state.requests.append(request)
            state.keys.add(self.headers.get("Authorization", ""))
            reply = state.answer(request, number)
            payload = reply.body.encode() if isinstance(reply.body, str) else json.dumps(reply.body).encode()
            try:
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload[: len(payload) // 2] if reply.cut else payload)
                self.wfile.flush()
                if reply.cut:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                self.close_connection = True

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield state
    server.shutdown()
    server.server_close()


def settings(provider: Provider, **changes: Any) -> TeacherParams:
    values = {"model": "openai/tester", "api_base": provider.url, "attempts": 1, "timeout": 30.0, **changes}
    return TeacherParams(**values)


def ask(provider: Provider, messages: list[Message] | None = None, **changes: Any) -> Completion:
    teacher = Teacher(settings(provider, **changes))
    return asyncio.run(teacher.complete(messages or [Message("user", "hello")], script={"role": "query", "plan": "P"}))
