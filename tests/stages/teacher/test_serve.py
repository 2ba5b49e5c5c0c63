"""Serving the teacher: a stand-in for `vllm` that answers, one that dies, one that is never ready."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stages.params import ParamsError, TeacherParams
from stages.records import Message
from stages.teacher.errors import ServeError
from stages.teacher.serve import served, tool_parser
from stages.teacher.team import open_teachers

ROOT = Path(__file__).parents[3]

ANSWERING = """
import json, os, subprocess, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path("pids").write_text(f"{os.getpid()} {worker.pid}")
Path("arguments").write_text("\\n".join(sys.argv[1:]))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply({} if self.path == "/health" else None)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = {"role": "assistant", "content": f"I am {request['model']}"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "finish_reason": "stop", "message": said}
        self.reply({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
                    "usage": usage})

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(404 if value is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


port = int(sys.argv[sys.argv.index("--port") + 1])
ThreadingHTTPServer((sys.argv[sys.argv.index("--host") + 1], port), Handler).serve_forever()
"""

DYING = """
import sys
print("loading weights")
print("CUDA out of memory [bold]really[/bold]", file=sys.stderr)
sys.exit(3)
"""

MUTE = """
import os, time
from pathlib import Path
Path("pids").write_text(str(os.getpid()))
print("still loading", flush=True)
time.sleep(600)
"""

STUBBORN = MUTE.replace("import os, time", "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)")

STAGE = """
import time
from pathlib import Path
from stages.params import TeacherParams
from stages.teacher.serve import served

with served(TeacherParams(model="hosted_vllm/Qwen/Qwen3-4B", serve="vllm")) as address:
    Path("ready").write_text(address)
    time.sleep(600)
"""

Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a program on PATH under the name of vllm."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)

    def write(text: str) -> None:
        program = tmp_path / "bin" / "vllm"
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)

    return write


def params(**changes: Any) -> TeacherParams:
    return TeacherParams(**{"model": "hosted_vllm/Qwen/Qwen3-4B", "serve": "vllm", "serve_timeout": 30.0, **changes})


def gone(tmp_path: Path) -> bool:
    """Whether every process that the stand-in named has ended."""
    end = time.monotonic() + 5
    for pid in (tmp_path / "pids").read_text().split():
        while _is_running(pid):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
    return True


def _is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_served_teacher_answers_and_is_stopped_with_its_workers(install: Install, tmp_path: Path) -> None:
    install(ANSWERING)
    with open_teachers(params(serve_args=["--tensor-parallel-size", "2"]), "synthesize") as teachers:
        done = asyncio.run(teachers.of("query").complete([Message("user", "Who?")], script={}))
        assert done.message.content == "I am Qwen/Qwen3-4B"
        assert not gone_now(tmp_path)
    assert gone(tmp_path)
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[:4] == ["serve", "Qwen/Qwen3-4B", "--host", "127.0.0.1"]
    assert arguments[6:] == [
        "--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--tensor-parallel-size", "2"
    ]  # fmt: skip


def gone_now(tmp_path: Path) -> bool:
    return not any(_is_running(pid) for pid in (tmp_path / "pids").read_text().split())


def test_answers_are_found_again_though_the_port_is_another(install: Install, tmp_path: Path) -> None:
    install(ANSWERING)
    for _ in range(2):
        with open_teachers(params(), "synthesize") as teachers:
            asyncio.run(teachers.of("query").complete([Message("user", "Who?")], script={}))
    assert (teachers.ledger.total.requests, teachers.ledger.total.cached) == (0, 1)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_it_is_stopped_after_an_error_and_after_ctrl_c(
    install: Install, tmp_path: Path, error: type[BaseException]
) -> None:
    install(ANSWERING)
    with pytest.raises(error), served(params()):
        raise error
    assert gone(tmp_path)


def test_one_that_dies_is_told_with_its_last_words(install: Install) -> None:
    install(DYING)
    with pytest.raises(ServeError, match=r"ended with code 3 before it was ready") as caught, served(params()):
        pytest.fail("it is not up")
    assert "CUDA out of memory [bold]really[/bold]" in str(caught.value)


@pytest.mark.parametrize("program", [MUTE, STUBBORN])
def test_one_that_is_never_ready_is_stopped(
    install: Install, tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stages.teacher.serve.STOP_SECONDS", 0.3)
    install(program)
    with (
        pytest.raises(ServeError, match=r"not ready within 5 s(.|\n)*still loading"),
        served(params(serve_timeout=5.0)),
    ):
        pytest.fail("it is not up")
    assert gone(tmp_path)


def test_sigterm_stops_it_too(install: Install, tmp_path: Path) -> None:
    install(ANSWERING)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    stage = subprocess.Popen([sys.executable, "-c", textwrap.dedent(STAGE)], cwd=tmp_path, env=environment)
    end = time.monotonic() + 40
    while not (tmp_path / "ready").exists():
        assert stage.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    stage.send_signal(signal.SIGTERM)
    assert stage.wait(20) == 128 + signal.SIGTERM
    assert gone(tmp_path)


def test_without_vllm_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServeError, match="no `vllm` on PATH"), served(params()):
        pytest.fail("it is not up")


@pytest.mark.parametrize(
    ("model", "parser"),
    [
        ("Qwen/Qwen3-32B", "hermes"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3_json"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4_pythonic"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes"),
        ("ibm-granite/granite-3.3-8b-instruct", "granite"),
        ("ibm-granite/granite-4.1-8b", "granite4"),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral"),
        ("google/gemma-4-31B-it", "gemma4"),
        ("google/gemma-3-27b-it", "pythonic"),
    ],
)
def test_each_family_has_its_parser(model: str, parser: str) -> None:
    assert tool_parser(params(model=f"hosted_vllm/{model}")) == parser
    assert tool_parser(params(model=f"hosted_vllm/{model}", tool_parser="own")) == "own"


def test_an_unknown_family_wants_a_parser() -> None:
    with pytest.raises(ParamsError, match=r"teacher\.tool_parser: no parser is known for hosted_vllm/acme/rocket"):
        tool_parser(params(model="hosted_vllm/acme/rocket"))
