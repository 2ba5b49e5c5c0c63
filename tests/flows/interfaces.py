"""`flows.ui` over a repository, and its Prefect server as a program asks it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


@dataclass(frozen=True)
class Interfaces:
    root: Path
    prefect: str
    mlflow: str
    environment: dict[str, str]

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.prefect}/api{path}", data, {"content-type": "application/json"})
        while True:
            try:
                with urlopen(request, timeout=60) as answer:
                    return json.load(answer)
            except HTTPError as error:
                if error.code != 503:  # the database is busy
                    raise
                time.sleep(1)

    def ended(self, run: str) -> dict[str, Any]:
        """The state in which a run ends."""
        while True:
            state: dict[str, Any] = self.ask(f"/flow_runs/{run}")["state"]
            if state["type"] in ENDED:
                return state
            time.sleep(1)

    def started(self, deployment: str, **parameters: Any) -> str:
        """A run of a deployment, created through the API as a person or another program would."""
        told = {"parameters": parameters, "state": {"type": "SCHEDULED"}}
        return str(self.ask(f"/deployments/{deployment}/create_flow_run", told)["id"])

    @contextmanager
    def program(self, *arguments: str, until: str) -> Iterator[Path]:
        """A module of ours, once it has said a word; it is stopped by SIGTERM and must end well. Yields its log."""
        log = self.root / f"{arguments[0]}.log"
        with log.open("wb") as file:
            command = [sys.executable, "-u", "-m", *arguments]
            process = subprocess.Popen(command, cwd=self.root, env=self.environment, stdout=file, stderr=file)
        try:
            while until not in log.read_text():
                assert process.poll() is None, log.read_text()
                time.sleep(0.2)
            yield log
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(90) == 0, log.read_text()
            assert "stopped" in log.read_text()
