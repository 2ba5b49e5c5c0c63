"""What a figure was measured on: the kind of machine and the revision, never a machine's name."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

from tests.bench.speed.figures import Strict

ROOT = Path(__file__).parents[3]


class Machine(Strict):
    """Facts that speed depends on. `load` is the average over the last minute at the start of the run."""

    cpus: int
    cpu: str
    platform: str
    python: str
    load: float


def machine() -> Machine:
    """This machine."""
    return Machine(
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        cpu=_cpu(),
        platform=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        load=round(os.getloadavg()[0], 2),
    )


def revision() -> str:
    """The commit that is checked out, with a plus sign if files differ from it; empty outside a repository."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (subprocess.CalledProcessError, FileNotFoundError):
        return ""


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _cpu() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
