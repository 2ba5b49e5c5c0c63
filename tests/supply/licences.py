"""The licences of all installed packages: a table in reports/, and a failure for each that nobody has judged.

`[tool.prove.licences]` of pyproject.toml holds the judgement. `allow` lists licences that every package may have, as
SPDX names or as packages spell them. `judged` gives the licence of single packages: of those that declare none, or
declare several to choose from, and of the copyleft ones, which are allowed one by one.

    python -m tests.supply.licences
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from license_expression import ExpressionError, LicenseSymbol, get_spdx_licensing
from packaging.utils import canonicalize_name
from rich.console import Console
from rich.text import Text

from stages.artifacts import write_text

ROOT = Path(__file__).parents[2]
REPORT = Path("reports", "licences.md")
OWN = "prove-pipeline"

_SPDX = get_spdx_licensing()


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package and the licence that it declares, in its own spelling."""

    name: str
    version: str
    licence: str


def installed() -> list[Package]:
    """Every package of this environment but our own, by name."""
    command = [sys.executable, "-m", "piplicenses", "--from=mixed", "--with-system", "--format=json"]
    said = subprocess.run([*command, "--ignore-packages", OWN], capture_output=True, text=True, check=True).stdout
    found = [(canonicalize_name(p["Name"]), p["Version"], " ".join(p["License"].split())) for p in json.loads(said)]
    return [Package(*each) for each in sorted(found)]


def judge(packages: Sequence[Package], allow: Collection[str], judged: Mapping[str, str]) -> list[str]:
    """What is wrong, one line for each package whose licence is neither allowed nor judged."""
    return [
        f"{package.name} {package.version} has the licence {package.licence[:80]!r}, which nobody has judged: "
        "read it, then add it to [tool.prove.licences] in pyproject.toml, or do without the package"
        for package in packages
        if package.name not in judged and not allowed(package.licence, allow)
    ]


def allowed(licence: str, allow: Collection[str]) -> bool:
    """Whether a licence may be used: as it is spelled, in all of its parts, or as an SPDX expression."""
    if all(part.strip() in allow for part in licence.split(";")):
        return True
    try:
        parsed = _SPDX.parse(licence, validate=True)
    except ExpressionError:
        return False
    return parsed is not None and _holds(parsed, allow)


def _holds(expression: object, allow: Collection[str]) -> bool:
    if isinstance(expression, LicenseSymbol):
        return str(expression) in allow
    either = isinstance(expression, _SPDX.OR)
    return (any if either else all)(_holds(part, allow) for part in expression.args)  # type: ignore[attr-defined]


def table(packages: Sequence[Package], judged: Mapping[str, str]) -> str:
    """The report as Markdown."""
    lines = ["# Licences of the installed packages", "", "| package | version | licence |", "|---|---|---|"]
    for package in packages:
        lines.append(f"| {package.name} | {package.version} | {judged.get(package.name, package.licence)} |")
    return "\n".join([*lines, ""])


def main() -> int:
    """Write the report; 1 if a licence is not allowed."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["prove"]["licences"]
    packages = installed()
    write_text(REPORT, table(packages, rules["judged"]))
    wrong = judge(packages, frozenset(rules["allow"]), rules["judged"])
    console = Console(stderr=bool(wrong), highlight=False)
    for line in wrong:
        console.print(Text(f"licences: {line}"), soft_wrap=True)
    if not wrong:
        kinds = len(Counter(package.licence for package in packages))
        console.print(f"licences: {len(packages)} packages, {kinds} licences, all judged: {REPORT}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
