"""A teacher that the pipeline serves itself: `vllm serve` for as long as a stage needs it.

Each DVC stage is a process of its own, and a GPU that held the teacher after the last conversation would be
missing in training. So the server lives within the stage: it starts before the first request and is stopped,
with all of its workers, when the stage ends, be it well, by an error, Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO

import httpx

from stages.params import ParamsError, TeacherParams
from stages.progress import Bar, progress
from stages.teacher.errors import ServeError

POLL_SECONDS = 0.5
STOP_SECONDS = 30.0
"""How long the server may take to stop before it is killed."""

LOG_LINES = 20
"""Lines of the server's log that an error shows."""

PARSERS = (
    ("qwen3-coder", "qwen3_coder"),
    ("qwen", "hermes"),
    ("hermes", "hermes"),
    ("llama-4", "llama4_pythonic"),
    ("llama", "llama3_json"),
    ("granite-4", "granite4"),
    ("granite", "granite"),
    ("mistral", "mistral"),
    ("ministral", "mistral"),
    ("gemma-4", "gemma4"),
    ("gemma", "pythonic"),
    ("deepseek", "deepseek_v3"),
    ("gpt-oss", "openai"),
)
"""vLLM's tool-call parser by what the name of the weights contains; the first that fits holds."""


def tool_parser(params: TeacherParams) -> str:
    """How vLLM is to read the model's tool calls.

    Raises:
        ParamsError: the model's family is unknown and `teacher.tool_parser` is not set.
    """
    if params.tool_parser:
        return params.tool_parser
    name = params.model.lower()
    for part, parser in PARSERS:
        if part in name:
            return parser
    raise ParamsError(
        f"teacher.tool_parser: no parser is known for {params.model}; name one of vLLM's (`vllm serve --help`)"
    )


@contextmanager
def served(params: TeacherParams) -> Iterator[str]:
    """The address of a vLLM server of the teacher's weights, up until the block ends.

    Raises:
        ServeError: vLLM is not installed, ended by itself, or was not ready in time; shows the end of its log.
        ParamsError: no tool-call parser is known for the model.
    """
    weights, parser = params.model.partition("/")[2], tool_parser(params)
    program = shutil.which("vllm")
    if program is None:
        raise ServeError(
            "teacher.serve is vllm, and there is no `vllm` on PATH: install it (pip install vllm), "
            "or start a server elsewhere, name it in teacher.api_base and set teacher.serve to none"
        )
    port = _free_port()
    command = [program, "serve", weights, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", parser, *params.serve_args]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log, _stopping_on_sigterm():
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            with progress(f"vllm serve {weights}") as bar:
                _wait(process, f"http://127.0.0.1:{port}/health", params.serve_timeout, log, bar)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            _stop(process)


def _wait(process: subprocess.Popen[bytes], health: str, seconds: float, log: IO[str], bar: Bar) -> None:
    end = time.monotonic() + seconds
    with httpx.Client(timeout=5.0, trust_env=False) as client:
        while True:
            code = process.poll()
            if code is not None:
                raise ServeError(f"vllm ended with code {code} before it was ready; its last words:\n{_tail(log)}")
            if _answers(client, health):
                return
            if time.monotonic() > end:
                raise ServeError(
                    f"vllm was not ready within {seconds:g} s (teacher.serve_timeout); its last words:\n{_tail(log)}"
                )
            bar.note(_tail(log, 1)[:100])
            bar.advance(0)
            time.sleep(POLL_SECONDS)


def _answers(client: httpx.Client, address: str) -> bool:
    try:
        return client.get(address).status_code == 200
    except httpx.TransportError:
        return False


def _tail(log: IO[str], lines: int = LOG_LINES) -> str:
    log.seek(0)
    said = [line.rstrip() for line in log if line.strip()]
    return "\n".join(said[-lines:]) or "(nothing)"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and everything that it started."""
    for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


@contextmanager
def _stopping_on_sigterm() -> Iterator[None]:
    """SIGTERM ends the block like an exception, so that it is cleaned up after; only the main thread can see to it."""

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
