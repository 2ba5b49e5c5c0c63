"""Prefect's and MLflow's web interfaces on loopback, together, until Ctrl-C or SIGTERM.

    python -m flows.ui

Nothing is sent anywhere: telemetry is off. While it runs, flows started in this repository report to its Prefect
server by themselves. A port that is taken is replaced by a free one, unless it was asked for. Exit codes: 0 stopped,
1 a server did not come up or died, 2 a port that was asked for is taken.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Annotated
from urllib.error import URLError
from urllib.request import urlopen

import typer
from rich.console import Console

from flows.settings import SERVER_ADDRESS, use_local_settings
from stages.artifacts import write_text
from stages.tracking import tracking_uri
from stages.tracking.database import QUIET, DatabaseError, connect, exclusive
from stages.tracking.tracker import masked

HOST = "127.0.0.1"
PREFECT_PORT, MLFLOW_PORT = 4200, 5000
START_SECONDS = 240.0
STOP_SECONDS = 15.0
LOGS = Path(".cache/ui")
_QUIET_MLFLOW = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
out = Console(highlight=False)


class ServerError(Exception):
    """A server did not come up, or died; the message ends with what it said last."""


@dataclass(frozen=True, slots=True)
class Server:
    """A program to run: its address, and the page that answers when it is ready."""

    name: str
    port: int
    command: Sequence[str]
    environment: Mapping[str, str]
    ready: str

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"http://{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        """What it prints."""
        return LOGS / f"{self.name.lower()}.log"


def prefect_server(port: int) -> Server:
    """Prefect's server with its pages, whose answers no other page in the browser may read."""
    environment = {
        "PREFECT_UI_API_URL": f"http://{HOST}:{port}/api",
        "PREFECT_API_URL": f"http://{HOST}:{port}/api",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"http://{HOST}:{port}",
    }
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", HOST, "--port", str(port)]
    return Server("Prefect", port, [*command, "--analytics-off"], environment, "/api/health")


def mlflow_server(port: int) -> Server:
    """MLflow's server over the tracked runs; their address may hold a password, so it is no argument."""
    environment = {**_QUIET_MLFLOW, "MLFLOW_BACKEND_STORE_URI": tracking_uri()}
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    return Server("MLflow", port, command, environment, "/health")


def free_port(wanted: int) -> int:
    """The wanted port, or any other if that is taken."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise ServerError(f"no port is free on {HOST}")


@contextmanager
def running(server: Server) -> Iterator[subprocess.Popen[bytes]]:
    """The server as a process of its own; when the block ends, it and its children are stopped."""
    server.log.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **QUIET, **server.environment}
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            server.command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group, first by asking and then by force, and wait until they are gone."""
    with suppress(ProcessLookupError):
        for how in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(process.pid, how)
            deadline = time.monotonic() + STOP_SECONDS
            while time.monotonic() < deadline:
                process.poll()
                os.killpg(process.pid, 0)  # fails when nobody is left in the group
                time.sleep(0.1)
    process.wait()


def wait_ready(server: Server, process: subprocess.Popen[bytes], stopping: Event) -> None:
    """Return when the server answers, or when everything is to stop.

    Raises:
        ServerError: it died, or did not answer in time.
    """
    deadline = time.monotonic() + START_SECONDS
    while not stopping.is_set():
        require_alive(server, process)
        try:
            with urlopen(f"{server.address}{server.ready}", timeout=5):
                return
        except (URLError, OSError):
            if time.monotonic() > deadline:
                raise ServerError(f"{server.name} did not answer within {START_SECONDS:.0f} s: {server.log}") from None
        stopping.wait(0.5)


def require_alive(server: Server, process: subprocess.Popen[bytes]) -> None:
    """Raise ServerError if the process has ended."""
    if process.poll() is None:
        return
    lines = [line for line in server.log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    told = lines[-1].strip()[:300] if lines else "it said nothing"
    raise ServerError(f"{server.name} ended with exit code {process.returncode}: {told} ({server.log})")


@app.command()
def main(
    prefect_port: Annotated[int | None, typer.Option(metavar="PORT", help="Prefect's port, 4200 or a free one")] = None,
    mlflow_port: Annotated[int | None, typer.Option(metavar="PORT", help="MLflow's port, 5000 or a free one")] = None,
) -> None:
    """Start both interfaces, say where they are, and stop them on Ctrl-C."""
    use_local_settings()
    stopping = Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopping.set())
    try:
        servers = list(_wanted(prefect_port, mlflow_port))
        if servers:
            _serve(servers, stopping)
    except (ServerError, DatabaseError) as error:
        Console(stderr=True, highlight=False).print(f"ui: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    out.print("stopped")


def _wanted(prefect_port: int | None, mlflow_port: int | None) -> Iterator[Server]:
    """The servers to start: none in place of one that the environment names."""
    if address := os.environ.get("PREFECT_API_URL"):
        out.print(f"Prefect runs elsewhere, PREFECT_API_URL is {masked(address)}", markup=False)
    else:
        yield prefect_server(_port("Prefect", prefect_port, PREFECT_PORT))
    if tracking_uri().startswith("http"):
        out.print(f"MLflow runs elsewhere, MLFLOW_TRACKING_URI is {masked(tracking_uri())}", markup=False)
        return
    with exclusive(tracking_uri()):
        connect(tracking_uri())
    yield mlflow_server(_port("MLflow", mlflow_port, MLFLOW_PORT))


def _port(name: str, asked: int | None, usual: int) -> int:
    wanted = usual if asked is None else asked
    port = free_port(wanted)
    if port != wanted and asked is not None:
        raise typer.BadParameter(f"port {asked} is taken on {HOST}", param_hint=f"--{name.lower()}-port")
    if port != wanted:
        out.print(f"{name}: port {wanted} is taken, using {port}", markup=False)
    return port


def _serve(servers: Sequence[Server], stopping: Event) -> None:
    api = Path(os.environ["PREFECT_HOME"]) / SERVER_ADDRESS
    with ExitStack() as stack:
        both = [(server, stack.enter_context(running(server))) for server in servers]
        for server, process in both:
            wait_ready(server, process, stopping)
            if stopping.is_set():
                return
            out.print(f"{server.name:8}{server.address}", markup=False)
            if server.name == "Prefect":
                write_text(api, f"{server.address}/api\n")
                stack.callback(api.unlink, missing_ok=True)
        while not stopping.wait(1.0):
            for server, process in both:
                require_alive(server, process)


if __name__ == "__main__":
    app()
