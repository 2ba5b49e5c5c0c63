"""A real model as the teacher, behind HTTP: SmolLM2-135M on loopback, from tool pairs to the checked dataset.

    .venv/bin/python tests/bench/local_teacher.py
    .venv/bin/python tests/bench/local_teacher.py --server banking --conversations 20 --max-tokens 128
    .venv/bin/python tests/bench/local_teacher.py --weights data/policy/sft --assistant-only

`python -m stages.train serve` offers weights (the packaged ones, or those of --weights) as an OpenAI-compatible
endpoint; the stages up to validate run on it as programs in a scratch directory. So small a model says little of what
it is asked to say, so that few rows or none are accepted: what is shown is that everything in between holds.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
import yaml
from rich.console import Console
from rich.table import Table

from stages.train.policy import packaged_weights

ROOT = Path(__file__).parents[2]
START_SECONDS = 900.0
STAGES = ("bootstrap", "discover", "synthesize", "validate")


@contextmanager
def serving(weights: Path, log: Path) -> Iterator[str]:
    """The address of an OpenAI-compatible endpoint for some weights, up until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "stages.train", "serve", str(weights), "--port", str(port), "--no-summaries"]
    with log.open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        end = time.monotonic() + START_SECONDS
        while not _is_up(f"http://127.0.0.1:{port}/health"):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the endpoint did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def _is_up(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def run_stage(name: str, where: Path) -> tuple[int, float]:
    """Exit code and seconds of a stage."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PROVE_TRACKING": "off", "OPENAI_API_KEY": "none"}
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-m", f"stages.{name}"], cwd=where, env=environment, check=False)
    return done.returncode, time.monotonic() - begin


def figures(where: Path, name: str) -> dict[str, Any]:
    """A stage's metrics; empty if it wrote none."""
    path = where / "reports" / "metrics" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def main(
    server: Annotated[str, typer.Option(help="whose tools are used")] = "video_meeting",
    conversations: Annotated[int, typer.Option(help="how many are written")] = 10,
    max_tokens: Annotated[int, typer.Option(help="tokens of one answer")] = 128,
    weights: Annotated[Path | None, typer.Option(help="a directory; the packaged model by default")] = None,
    assistant_only: Annotated[bool, typer.Option(help="let the program play all other roles")] = False,
) -> None:
    """Write conversations with a local model and say how many are accepted."""
    weights = weights or packaged_weights(ROOT / ".cache" / "models")
    with tempfile.TemporaryDirectory(prefix="local-teacher-") as scratch:
        where = Path(scratch)
        with serving(weights, where / "serve.log") as address:
            block = {"model": "openai/policy", "api_base": address, "max_tokens": max_tokens}
            block |= {"timeout": 300.0, "concurrency": 1, "attempts": 2}
            if assistant_only:
                block["roles"] = {role: {"model": "scripted/grounded"} for role in ("query", "user", "discover")}
            document = {
                "bootstrap": {"servers": [server], "policy": str(weights)},
                "teacher": block,
                "discover": {"chains": 50},
                "synthesize": {"conversations": conversations, "server_tools": 4},
            }
            (where / "params.yaml").write_text(yaml.safe_dump(document))
            ran = {name: run_stage(name, where) for name in STAGES}
        show(where, ran, conversations)


def show(where: Path, ran: dict[str, tuple[int, float]], conversations: int) -> None:
    """Print what became of the conversations."""
    table = Table("figure", "value", title=f"{conversations} conversations by SmolLM2-135M")
    for name, (code, seconds) in ran.items():
        table.add_row(f"{name}: exit code, seconds", f"{code}, {seconds:.0f}")
    written, checked = figures(where, "synthesize"), figures(where, "validate")
    accounts = written.get("teacher", {})
    for name in ("requests", "retries", "failed", "prompt_tokens", "completion_tokens"):
        table.add_row(f"teacher {name} (synthesize)", str(accounts.get(name)))
    lost = Counter({name.removeprefix("failures/"): n for name, n in accounts.items() if name.startswith("failures/")})
    table.add_row("failures", str(dict(lost)))
    table.add_row("written", str(written.get("conversations")))
    table.add_row("unwritten", str(written.get("unwritten")))
    table.add_row("accepted", f"{checked.get('accepted', 0)} ({checked.get('acceptance_rate', 0):.0%})")
    table.add_row("rejected", str(checked.get("reasons", {})))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
