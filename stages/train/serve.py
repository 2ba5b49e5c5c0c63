"""`python -m stages.train serve`: a policy behind an OpenAI-compatible endpoint, in its own chat format.

    python -m stages.train serve data/policy/final --port 8000

For looking at a policy from any client, for scoring it as a hosted agent, and for letting a small model play the
teacher. One request after another is sampled on the machine's own device: a server for one person, not for load.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from servers.gateway.hosts import Hosts, is_loopback
from stages.records import Message, ToolSpec
from stages.teacher.wire import SaidCall, assistant_message, to_openai
from stages.train.config import PolicyConfig
from stages.train.order import mixed_seed
from stages.train.policy import Policy, load_policy
from stages.train.sampling import Sampler


class _Function(BaseModel):
    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    arguments: str = "{}"


class _Call(BaseModel):
    id: str = ""
    function: _Function


class _Said(BaseModel):
    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: list[_Call] = []
    tool_call_id: str = ""

    def message(self) -> Message:
        if self.role == "assistant":
            calls = (SaidCall(call.id, call.function.name, call.function.arguments) for call in self.tool_calls)
            return assistant_message(self.content or "", calls)
        return Message(self.role, self.content or "", tool_call_id=self.tool_call_id)


class ChatRequest(BaseModel):
    """The part of a chat completion request that is understood; other keys are passed over."""

    messages: Annotated[list[_Said], Field(min_length=1)]
    tools: list[_Call] = []
    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0
    max_tokens: Annotated[int, Field(ge=1)] = 256
    seed: int = 0


class TooLongError(ValueError):
    """The prompt leaves no room in the context."""


def complete(policy: Policy, request: ChatRequest, context: int) -> dict[str, Any]:
    """One chat completion as plain data; the same request with the same seed gets the same answer.

    Raises:
        TooLongError: the prompt has `context` tokens or more.
    """
    tools = [ToolSpec(t.function.name, t.function.description, t.function.parameters) for t in request.tools]
    prompt = policy.chat.opening(tools, [said.message() for said in request.messages])
    room = context - len(prompt)
    if room < 1:
        raise TooLongError(f"the prompt has {len(prompt)} tokens; this policy takes {context - 1} at most")
    sampler = Sampler(
        policy.network, policy.chat.stop_ids, temperature=request.temperature, seed=mixed_seed(request.seed)
    )
    sampler.start([prompt])
    reply = sampler.sample({0: min(request.max_tokens, room)})[0]
    message = policy.chat.parse(reply.ids, turn=len(request.messages))
    finish = "length" if not reply.stopped else "tool_calls" if message.tool_calls else "stop"
    used = {"prompt_tokens": len(prompt), "completion_tokens": len(reply.ids)}
    return {
        "id": "chatcmpl-local",
        "object": "chat.completion",
        "created": 0,
        "model": "policy",
        "choices": [{"index": 0, "message": to_openai(message), "finish_reason": finish}],
        "usage": {**used, "total_tokens": sum(used.values())},
    }


def application(policy: Policy, context: int) -> Starlette:
    """The endpoint: `/v1/chat/completions`, `/v1/models` and `/health`."""
    one_at_a_time = threading.Lock()

    def answer(request: ChatRequest) -> dict[str, Any]:
        with one_at_a_time:
            return complete(policy, request, context)

    async def completions(request: Request) -> Response:
        try:
            asked = ChatRequest.model_validate_json(await request.body())
            return JSONResponse(await run_in_threadpool(answer, asked))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return _refused(f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}")
        except TooLongError as error:
            return _refused(str(error))

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "policy", "object": "model", "owned_by": "local"}]})

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", completions, methods=["POST"]),
            Route("/v1/models", models),
            Route("/health", health),
        ]
    )


def guarded(app: ASGIApp, hosts: Hosts) -> ASGIApp:
    """The application under its own names alone: another site's page can neither ask it nor rebind its name to it."""

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else None
        if headers is None:
            await app(scope, receive, send)
        elif not hosts.serves(headers.get("host", "")):
            await _refused("this address is not served under that name", 421)(scope, receive, send)
        elif "origin" in headers and not hosts.trusts(headers["origin"]):
            await _refused("pages of other sites may not use this endpoint", 403)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return named


def _refused(problem: str, status: int = 400) -> JSONResponse:
    return JSONResponse({"error": {"message": problem, "type": "invalid_request_error"}}, status)


def _weights(text: str) -> Path:
    try:
        (Path(text) / "config.json").stat()
    except OSError:
        problem = f"{text} holds no weights: run `python -m stages.train`, or name another directory"
        raise argparse.ArgumentTypeError(problem) from None
    return Path(text)


def serve(arguments: Sequence[str]) -> int:
    """Serve until interrupted; returns the exit code."""
    import uvicorn

    parser = argparse.ArgumentParser(prog="python -m stages.train serve", description="Serve a policy over HTTP.")
    parser.add_argument("weights", type=_weights, help="a directory of weights, such as data/policy/final")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: loopback only)")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--context", type=int, default=4096, help="tokens of prompt and reply together")
    parser.add_argument("--no-summaries", action="store_true", help="show tool signatures alone, as in params.yaml")
    given = parser.parse_args(arguments)
    policy = load_policy(PolicyConfig(base=str(given.weights), tool_summaries=not given.no_summaries))
    policy.network.eval()
    app: ASGIApp = application(policy, given.context)
    if is_loopback(given.host):
        app = guarded(app, Hosts())
    uvicorn.run(app, host=given.host, port=given.port, log_level="warning")
    return 0
