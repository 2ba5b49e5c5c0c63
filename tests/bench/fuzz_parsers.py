"""Readers of foreign text and bytes under a coverage-guided fuzzer.

    python -m tests.bench.fuzz_parsers --seconds 60
    python -m tests.bench.fuzz_parsers --seconds 600 --target params
    python -m tests.bench.fuzz_parsers --target params --input /tmp/fuzz/params/crash-1234    # one input again

Needs the package atheris. Each target runs in a process of its own and ends at its first finding: an exception that
its reader does not document, a value that breaks a promise, more than two seconds of processor time or 500 MB more
memory than at the start. Inputs that led further and findings are kept below `--work`, for the next run.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.target import run_timed
from tests.fuzz.targets import PLACES, target

MOST_MEMORY = 500
"""Megabytes that a reader may take beyond what the process has at its start."""

HANG = 600
"""Seconds on the clock after which an input that never ends is a finding, however busy the machine is."""

INSTRUMENTED = ["stages", "servers.kernel", "flows", "yaml"]
_EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_COVERAGE = re.compile(r"cov: (\d+) ft: (\d+)")


def main() -> int:
    """Fuzz the targets one after another, then say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: %(default)s)")
    parser.add_argument("--target", choices=PLACES, action="append", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "fuzz")
    parser.add_argument("--input", type=Path, help="feed this file to the one target, and nothing else")
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.target or list(PLACES)
    if arguments.input:
        run_timed(target(names[0]), arguments.input.read_bytes())
        print("no promise was broken")
        return 0
    if find_spec("atheris") is None:
        print("fuzz_parsers: the package atheris is missing: pip install atheris==3.0.0", file=sys.stderr)
        return 2
    if arguments.in_process:
        fuzz(names[0], arguments.work / names[0], arguments.seconds, arguments.seed)
    print(f"{'target':<14}{'executed':>10}{'a second':>10}{'features':>10}   finding")
    return max(run(name, arguments.work, arguments.seconds, arguments.seed) for name in names)


def run(name: str, work: Path, seconds: int, seed: int) -> int:
    """One target in a process of its own; prints a line and returns 1 for a finding."""
    options = ["--target", name, "--work", str(work), "--seconds", str(seconds), "--seed", str(seed), "--in-process"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.fuzz_parsers", *options],
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "PROVE_TRACKING": "off"},
        check=False,
    )
    executed = int((_EXECUTED.findall(done.stderr) or ["0"])[-1])
    _, features = (_COVERAGE.findall(done.stderr) or [("0", "0")])[-1]
    kept = re.findall(r"Test unit written to (\S+)", done.stderr)
    print(f"{name:<14}{executed:>10,}{executed / seconds:>10,.0f}{features:>10}   {kept[-1] if kept else 'none'}")
    if done.returncode:
        print("\n".join((done.stdout + done.stderr).splitlines()[-25:]))
    return 1 if done.returncode else 0


def fuzz(name: str, work: Path, seconds: int, seed: int) -> None:
    """Fuzz in this process, which ends with the fuzzer."""
    import atheris

    corpus = work / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=INSTRUMENTED):
        chosen = target(name)
    for data in chosen.seeds:
        chosen.run(data)  # untimed: the first inputs import what they need
        (corpus / sha256(data).hexdigest()[:16]).write_bytes(data)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024 + MOST_MEMORY
    options = {
        "max_total_time": seconds,
        "seed": seed,
        "max_len": 4096,
        "timeout": HANG,
        "rss_limit_mb": memory,
        "malloc_limit_mb": MOST_MEMORY,
        "print_final_stats": 1,
        "artifact_prefix": f"{work}/",
    }
    given = [sys.argv[0], *(f"-{key}={value}" for key, value in options.items()), str(corpus)]
    atheris.Setup(given, lambda data: run_timed(chosen, data))
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
