"""Two servers together: ports, death of one, and that nothing is left when they are stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from threading import Event

import psutil
import pytest

from flows import ui
from flows.settings import SERVER_ADDRESS, use_local_settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def server(*command: str, port: int = 0) -> ui.Server:
    return ui.Server("Test", port, command, {}, "/")


def test_a_taken_port_is_replaced_unless_it_was_asked_for() -> None:
    with socket.socket() as taken:
        taken.bind((ui.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert ui.free_port(port) != port
        command = [sys.executable, "-m", "flows.ui", "--prefect-port", str(port)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_HOME": str(Path.cwd()), "COLUMNS": "200"}
        environment.pop("PREFECT_API_URL", None)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and f"port {port} is taken on 127.0.0.1" in done.stderr
    assert ui.free_port(port) == port


def test_a_server_that_dies_is_told_with_its_last_words() -> None:
    dying = server(sys.executable, "-c", "print('no room'); raise SystemExit(3)")
    with ui.running(dying) as process:
        process.wait(20)
        with pytest.raises(ui.ServerError, match=r"Test ended with exit code 3: no room \(.cache/ui/test.log\)"):
            ui.wait_ready(dying, process, Event())


def test_stopping_takes_children_along_even_stubborn_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ui, "STOP_SECONDS", 1.0)
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    )
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {stubborn!r}])"
    with ui.running(server(sys.executable, "-c", parent)) as process:
        child = None
        while child is None or not (ui.LOGS / "test.log").read_text():
            child = next(iter(psutil.Process(process.pid).children()), None)
    assert child is not None and not (child.is_running() and child.status() != psutil.STATUS_ZOMBIE)


def test_a_flow_finds_the_running_server_and_no_dead_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_API_URL", "kept")
    monkeypatch.delenv("PREFECT_API_URL")
    port = ui.free_port(0)
    (tmp_path / SERVER_ADDRESS).write_text(f"http://{ui.HOST}:{port}\n")
    use_local_settings()
    assert "PREFECT_API_URL" not in os.environ
    (tmp_path / "health").write_text("true")
    alive = server(sys.executable, "-m", "http.server", str(port), "--bind", ui.HOST, port=port)
    with ui.running(alive) as process:
        ui.wait_ready(alive, process, Event())
        use_local_settings()
    assert os.environ["PREFECT_API_URL"] == f"http://{ui.HOST}:{port}"
