"""Processes of the test device as forks of one: what they get, and when they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from stages.train.verl.cpu import forks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks that end with their parent are Linux's")

LIGHT = f"import sys, {forks.__name__} as forks; forks.LOADED = ('colorsys',); sys.exit(forks.main())"
WORKER = """
import json, os, sys
told = {"arguments": sys.argv[1:], "told": os.environ.get("TOLD"), "here": os.getcwd(), "parent": os.getppid(),
        "loaded": "colorsys" in sys.modules, "beside": sys.path[0]}
print(json.dumps(told))
sys.stderr.write("to the other stream")
"""
MAIN = """
import subprocess, sys, os
run = subprocess.run([sys.executable, "-I", "-S", sys.argv[1], sys.argv[2], "one", "two words"],
                     env={**os.environ, "TOLD": "yes"}, cwd=sys.argv[3], capture_output=True, text=True)
print(os.getppid(), run.stdout.strip(), run.stderr, sep="|")
sys.exit(7)
"""
WAITING = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-I", "-S", sys.argv[1], sys.argv[2]])
time.sleep(600)
"""


def started(tmp_path: Path, main: str, worker: str) -> subprocess.Popen[str]:
    (tmp_path / "main_of_forks.py").write_text(main)
    (tmp_path / "worker_of_forks.py").write_text(worker)
    (tmp_path / "elsewhere").mkdir()
    arguments = ["main_of_forks", str(forks.WORKER), str(tmp_path / "worker_of_forks.py"), str(tmp_path / "elsewhere")]
    return subprocess.Popen(
        [sys.executable, "-c", LIGHT, *arguments], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), str(tmp_path)])},
    )  # fmt: skip


def until_gone(processes: list[psutil.Process]) -> None:
    assert not psutil.wait_procs(processes, timeout=20)[1]


def family(tmp_path: Path) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """A run whose worker waits, and all that belongs to it."""
    ready = tmp_path / "ready"
    run = started(tmp_path, WAITING, f"import pathlib, time; pathlib.Path({str(ready)!r}).touch(); time.sleep(600)")
    while not ready.exists():
        assert run.poll() is None
        time.sleep(0.05)
    found = psutil.Process(run.pid).children(recursive=True)
    assert len(found) == 3, "the module, the one who asked, the worker"
    return run, found


def test_a_worker_has_the_arguments_environment_directory_and_streams_of_the_one_who_asked(tmp_path: Path) -> None:
    run = started(tmp_path, MAIN, WORKER)
    said, _ = run.communicate(timeout=60)
    parent, told, other = said.strip().split("|")
    assert json.loads(told) == {
        "arguments": ["one", "two words"],
        "told": "yes",
        "here": str(tmp_path / "elsewhere"),
        "parent": run.pid,
        "loaded": True,
        "beside": str(tmp_path),
    }
    assert other == "to the other stream"
    assert int(parent) == run.pid, "the module runs in a fork too"
    assert run.returncode == 7, "its code is the run's"


def test_a_worker_that_fails_leaves_the_others(tmp_path: Path) -> None:
    run = started(tmp_path, MAIN, "raise ValueError('of the worker')")
    said, _ = run.communicate(timeout=60)
    assert "of the worker" in said and run.returncode == 7


GONE = """
import os, socket, subprocess, sys
for said in (b"", b"+", b"+[1, "):
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(os.environ["PROVE_FORKS"])
        asked.send(said)
sys.exit(subprocess.run([sys.executable, "-I", "-S", sys.argv[1], sys.argv[2]]).returncode)
"""


def test_one_who_goes_in_the_middle_of_asking_harms_nobody(tmp_path: Path) -> None:
    run = started(tmp_path, GONE, "print('asked and answered')")
    said, _ = run.communicate(timeout=60)
    assert said.strip() == "asked and answered" and run.returncode == 0


def test_killed_it_takes_all_along(tmp_path: Path) -> None:
    run, found = family(tmp_path)
    run.kill()
    until_gone(found)
    assert run.wait() == -signal.SIGKILL


def test_asked_to_stop_it_asks_the_module_and_ends_with_it(tmp_path: Path) -> None:
    run, found = family(tmp_path)
    run.terminate()
    until_gone(found)
    assert run.wait() == 128 + signal.SIGTERM
