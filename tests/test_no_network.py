"""Nothing leaves the machine: every module imported, tools called and the first stages run, sockets watched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Python tells an audit hook of every address that is looked up, connected to or written to, whichever library asks.
WATCH = """
import os, sys

def _home(address):
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = address[0].decode() if isinstance(address[0], bytes) else str(address[0] or "")
    return host in ("", "localhost", "0.0.0.0", "::", "::1") or host.startswith("127.")

def _watch(event, given):
    if event in ("socket.connect", "socket.sendto"):
        address = given[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        address = (given[0],)
    else:
        return
    if not _home(address):
        with open(os.environ["WATCHED"], "a") as file:
            file.write(f"{event} {address!r} by {sys.argv[:3]}\\n")
        raise OSError(f"the network is off: {address!r}")

sys.addaudithook(_watch)
"""

# Modules that are programs of a cluster's workers or need packages which are not installed by default.
OPTIONAL = ("verl", "ray", "transfer_queue", "tensordict", "hydra", "vllm", "prefect_ray", "codetiming", "torchdata")

# One process for all of it, since its imports take most of the time; servers and git are processes of their own.
# It imports vLLM, which lives in an environment of its own.
ELSEWHERE = ("stages.train.verl.cpu.vllm",)

PROGRAM = f"""
import importlib, pathlib, sys
count = 0
for room in ("servers", "stages", "flows"):
    for path in sorted(pathlib.Path({str(ROOT)!r}, room).rglob("*.py")):
        parts = path.relative_to({str(ROOT)!r}).with_suffix("").parts
        if parts[-1] == "__main__":
            continue
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name in {ELSEWHERE!r}:
            continue
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in {OPTIONAL!r}:
                raise
        count += 1

def run(name, *arguments):
    import runpy
    sys.argv = [name, *arguments]
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise

run("servers", "list")
run("servers", "call", "list_accounts", "{{}}")
for stage in ("bootstrap", "discover", "synthesize", "validate"):
    run("stages." + stage)
print("modules:", count)
"""

PARAMS = """
seed: 7
bootstrap: {servers: [banking]}
discover: {bindings: 1, chains: 20}
synthesize: {conversations: 6}
"""


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """A directory whose `sitecustomize` watches every process that starts with it, and theirs."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    (tmp_path / "params.yaml").write_text(PARAMS)
    return tmp_path


def run(directory: Path, *arguments: str, seconds: float = 580.0) -> str:
    """What a program said that ended well; every name of a proxy, key or telemetry switch is taken away first."""
    environment = {
        name: value for name, value in os.environ.items()
        if not name.lower().endswith("_proxy") and not name.startswith(("MLFLOW_", "PREFECT_", "HF_", "LITELLM_"))
        and name not in ("DO_NOT_TRACK", "PROVE_TRACKING", "GX_ANALYTICS_ENABLED", "RAY_USAGE_STATS_ENABLED")
    }  # fmt: skip
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(directory / "watch"), str(ROOT)]),
        "WATCHED": str(directory / "watched.txt"),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=seconds
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def attempts(directory: Path) -> str:
    path = directory / "watched.txt"
    return path.read_text() if path.exists() else ""


def test_the_watch_sees_what_it_should(watched: Path) -> None:
    tries = "import socket\nfor f in (lambda: socket.create_connection(('192.0.2.1', 80), 1), "
    tries += "lambda: socket.getaddrinfo('example.org', 443)):\n try: f()\n except OSError as e: print(e)\n"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {tries!r}])"
    home = "s = __import__('socket').create_server(('127.0.0.1', 0)); "
    home += "__import__('socket').create_connection(('localhost', s.getsockname()[1]), 5)"
    run(watched, "-c", home)
    assert attempts(watched) == ""
    assert run(watched, "-c", child).count("the network is off") == 2
    told = attempts(watched)
    assert "192.0.2.1" in told and "example.org" in told


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_import_no_tool_and_none_of_the_first_stages_asks_the_network(watched: Path) -> None:
    """Tracking is on, into a database of its own; the scripted teacher writes; weights come from their package."""
    weights = ROOT / ".cache" / "models"
    if weights.is_dir():  # converting them anew takes a quarter of a minute and asks no network either
        (watched / ".cache").mkdir()
        (watched / ".cache" / "models").symlink_to(weights)
    said = run(watched, "-c", PROGRAM)
    assert int(said.rpartition("modules:")[2]) > 300
    assert attempts(watched) == ""
    assert (watched / "data" / "dataset").is_dir() and (watched / "mlflow.db").is_file()
