"""A run of the test device begins its processes as forks of one that has loaded torch and transformers.

    python -m stages.train.verl.cpu.forks MODULE ARGUMENT ...

Ray starts about ten Python processes one after another, and on two cores each would spend most of its start on the same
imports. The module runs in a fork; Ray's workers come from `worker.py`, which asks here for another. All of them end
with this process.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NoReturn

ADDRESS = "PROVE_FORKS"
"""Environment variable with the path of the socket."""

WORKER = Path(__file__).with_name("worker.py")

LOADED = (
    "torch._dynamo",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "transformers.models.auto.modeling_auto",
    "accelerate",
    "datasets",
    "omegaconf",
    "pandas",
    "peft",
    "tensordict",
)
"""Nothing that starts threads or reads the environment of a Ray worker, so Ray itself is not among them."""

POLL_SECONDS = 0.5
PR_SET_PDEATHSIG = 1


class Forks:
    """Forks of this process; `main` is the one that all others serve."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._codes: dict[int, int] = {}
        signal.signal(signal.SIGCHLD, self._reap)

    def run(self, main: Callable[[], None]) -> int:
        """Run it in a fork, and a worker for each request; returns its exit code."""
        process = self._fork(main)
        signal.signal(signal.SIGTERM, lambda *_: os.kill(process, signal.SIGTERM))
        while process not in self._codes:
            if select.select([self._listener], [], [], POLL_SECONDS)[0]:
                self._answer(self._listener.accept()[0])
        return self._codes[process]

    def _answer(self, asked: socket.socket) -> None:
        with asked:
            _, streams, _, _ = socket.recv_fds(asked, 1, 3)
            try:
                with asked.makefile("rb") as text:
                    arguments, environment, directory = json.load(text)
            except (ValueError, OSError):  # who asked has gone in the middle of it
                _close(streams)
                return

            def work() -> None:
                self._listener.close()
                for target, stream in enumerate(streams):
                    os.dup2(stream, target)
                _close(streams)
                os.environ.clear()
                os.environ.update(environment)
                os.chdir(directory)
                sys.argv = arguments
                sys.path.insert(0, str(Path(arguments[0]).parent))
                runpy.run_path(arguments[0], run_name="__main__")

            self._fork(work)  # it keeps the connection open, and so tells the one who asked when it ends
            _close(streams)

    def _fork(self, work: Callable[[], None]) -> int:
        process = os.fork()
        if not process:
            _become(work)
        return process

    def _reap(self, _number: int, _frame: FrameType | None) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not process:
                return
            code = os.waitstatus_to_exitcode(status)
            self._codes[process] = code if code >= 0 else 128 - code


def _close(streams: Iterable[int]) -> None:
    for stream in streams:
        os.close(stream)


def _become(work: Callable[[], None]) -> NoReturn:
    """Do the work as a process of its own."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    code = 1
    try:
        work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001  # what the interpreter would do at the top
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> int:
    """Load, listen, run."""
    module = sys.argv[1]
    os.environ["OMP_NUM_THREADS"] = "1"  # read when torch is loaded
    for name in LOADED:
        import_module(name)

    def run() -> None:
        sys.argv = [module, *sys.argv[2:]]
        runpy.run_module(module, run_name="__main__", alter_sys=True)

    with tempfile.TemporaryDirectory(prefix="prove-forks-") as directory, socket.socket(socket.AF_UNIX) as listener:
        os.environ[ADDRESS] = str(Path(directory) / "socket")
        listener.bind(os.environ[ADDRESS])
        listener.listen(64)
        return Forks(listener).run(run)


if __name__ == "__main__":
    sys.exit(main())
