"""Known faults of the locked packages, asked of the index's vulnerability service by pip-audit where it can be reached.

Without a network, and behind a mirror that does not carry the service, pip-audit either fails or calls every package
unknown and then finds nothing. So a lock of two packages is asked about first: if the service does not know them,
nothing was checked, which is said and is no failure. `ignore` of `[tool.prove.audit]` in pyproject.toml names the
faults that were read and do not concern us, each with the reason.

    python -m tests.supply.audit
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[2]
PROBE = "requirements-build.lock"
LOCKS = (PROBE, "requirements.lock", "requirements-torch.lock", "requirements-nodeps.lock")
SECONDS = 900


@dataclass(frozen=True, slots=True)
class Answer:
    """What pip-audit said of some locks; `report` is None if it said nothing that can be read, `words` is why."""

    report: Mapping[str, Any] | None
    words: str = ""

    def skipped(self) -> list[str]:
        """Packages that the service does not know."""
        return [p["name"] for p in (self.report or {}).get("dependencies", ()) if "skip_reason" in p]

    def faults(self, ignore: Collection[str]) -> list[str]:
        """One line for each fault that is not ignored, by its name or by one of its other names."""
        return [
            f"{package['name']} {package['version']}: {fault['id']}, mended in {', '.join(fault['fix_versions'])}"
            for package in (self.report or {}).get("dependencies", ())
            for fault in package.get("vulns", ())
            if not {fault["id"], *fault.get("aliases", ())} & set(ignore)
        ]


def ask(locks: Sequence[str]) -> Answer:
    """Ask about all packages of the locks; nothing is installed."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    for lock in locks:
        command += ["-r", str(ROOT / lock)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return Answer(None, f"no answer within {SECONDS} s")
    try:
        return Answer(json.loads(done.stdout))
    except ValueError:
        return Answer(None, next(reversed(done.stderr.strip().splitlines()), "no answer"))


def main() -> int:
    """Print what was found; 1 if there are faults, or the locks cannot be read."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["prove"]["audit"]
    if missing := [lock for lock in LOCKS if not (ROOT / lock).is_file()]:
        _say(f"audit: {', '.join(missing)} is missing: run `make lock`")
        return 1
    probe = ask([PROBE])
    if probe.report is None or probe.skipped():
        why = probe.words or f"the service does not know {', '.join(probe.skipped())}"
        _say(f"audit: not checked: no network to the vulnerability service ({why})")
        return 0
    answer = ask(LOCKS)
    if answer.report is None:
        _say(f"audit: pip-audit failed: {answer.words}")
        return 1
    faults = answer.faults(rules["ignore"])
    for line in faults:
        _say(f"audit: {line}: raise the pin and run `make lock`, or ignore it with a reason in pyproject.toml")
    if unknown := answer.skipped():
        _say(f"audit: not checked, the service does not know them: {', '.join(unknown)}")
    if not faults:
        _say(f"audit: {len(answer.report['dependencies'])} packages, no known faults but those ignored by name")
    return 1 if faults else 0


def _say(line: str) -> None:
    Console(highlight=False).print(Text(line), soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
