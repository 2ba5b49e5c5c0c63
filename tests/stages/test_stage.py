"""The frame of a stage: exit codes, one-line errors, typed params, output tables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from stages.params import DiscoverParams, ParamsError, ReportParams, TeacherParams
from stages.stage import StageContext

ROOT = Path(__file__).parents[2]

PROGRAM = '''
from pathlib import Path

import pyarrow as pa

from servers.kernel.errors import HarnessError
from stages.artifacts import ArtifactError, write_table
from stages.params import DiscoverParams, TeacherParams
from stages.stage import run_stage


def main(ctx):
    """Count to three, at 100 %."""
    with ctx.progress("Counting", total=3) as bar:
        bar.advance(3, failed=1)
    what = ctx.block(TeacherParams, "teacher").model
    if what == "artifact":
        raise ArtifactError("data/x is missing:\\n  run it")
    if what == "harness":
        raise HarnessError("the log does not fit")
    if what == "bug":
        raise ZeroDivisionError("a fault of ours")
    if what == "nan":
        ctx.log_metrics({"loss": float("nan")}, step=4)
    if what == "liar":
        return [Path("data/absent")]
    ctx.log_metrics({"edges": 1234})
    path = Path("data/graph/edges.parquet")
    write_table(path, pa.schema([("a", pa.int64())]), [{"a": ctx.params.bindings}, {"a": ctx.seed}], ctx.stamp)
    return [path.parent]


def other(ctx):
    """Say hello."""
    print("hello", ctx.seed)
    return []


if __name__ == "__main__":
    run_stage("discover", DiscoverParams, main, {"greet": other}, dry_run=other)
'''

Run: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "toy.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PROVE_TRACKING": "off"}

    def start(params: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "params.yaml").write_text(f"seed: 9\nbootstrap: {{servers: [banking]}}\n{params}\n")
        command = [sys.executable, "toy.py", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return start


def test_a_good_run_ends_with_a_table_of_outputs(run: Run) -> None:
    done = run("discover: {bindings: 3}")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["output", "size", "rows"] in rows
    assert next(row for row in rows if "data/graph/edges.parquet" in row)[-1] == "2"
    assert ["edges", "1,234"] in rows
    assert "discover: Counting: 3/3 (100%)" in done.stderr
    assert "1 failed" in done.stderr


def test_a_command_runs_in_the_same_frame(run: Run) -> None:
    for argument in ("greet", "--dry-run"):
        done = run("", argument)
        assert (done.returncode, done.stdout) == (0, "hello 9\n")


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ("artifact", "discover: data/x is missing:; run it"),
        ("harness", "discover: the log does not fit"),
        ("liar", "discover: data/absent was to be written and is not there"),
    ],
)
def test_expected_errors_take_one_line_and_exit_1(run: Run, teacher: str, message: str) -> None:
    done = run(f"teacher: {{model: {teacher}}}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == message
    assert "Traceback" not in done.stderr


def test_a_metric_that_is_no_number_is_told_and_the_stage_goes_on(run: Run) -> None:
    done = run("teacher: {model: nan}")
    assert done.returncode == 0
    assert "discover: metric loss at step 4 is nan, not a finite number: it is left out" in done.stderr


def test_a_bug_keeps_its_traceback_and_exits_1(run: Run) -> None:
    done = run("teacher: {model: bug}")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ZeroDivisionError: a fault of ours" in done.stderr


@pytest.mark.parametrize(
    ("params", "arguments", "message"),
    [
        ("discver: {}", (), "discover: params.yaml: unknown block 'discver'; did you mean 'discover'?"),
        ("discover: {chian_length: [2, 3]}", (), "discover.chian_length: unknown key; did you mean 'chain_length'?"),
        ("discover: {bindings: 0}", (), "discover.bindings: Input should be greater than or equal to 1, found '0'"),
        ("", ("--param=x",), "unrecognized arguments"),
        ("", ("nonsense",), "invalid choice: 'nonsense'"),
        ("", ("--params", "absent.yaml"), "absent.yaml is missing"),
    ],
)
def test_bad_usage_and_bad_params_exit_2(run: Run, params: str, arguments: tuple[str, ...], message: str) -> None:
    done = run(params, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_help_tells_what_the_stage_does(run: Run) -> None:
    done = run("", "--help")
    assert done.returncode == 0
    assert "Count to three, at 100 %." in done.stdout
    assert "greet: Say hello." in done.stdout


def test_context_without_a_program() -> None:
    ctx = StageContext("report", ReportParams(), document={"teacher": {"model": "openai/x"}})
    assert ctx.seed == 7
    assert ctx.block(TeacherParams, "teacher").model == "openai/x"
    assert ctx.block(DiscoverParams, "discover") == DiscoverParams()


def test_an_unknown_server_is_a_bad_param() -> None:
    ctx = StageContext("report", ReportParams(), document={"bootstrap": {"servers": ["bankin"]}})
    with pytest.raises(ParamsError, match="unknown server 'bankin'; did you mean 'banking'"):
        _ = ctx.catalog


def test_the_stamp_follows_the_block_and_the_servers() -> None:
    document = {"bootstrap": {"servers": ["banking"]}}
    one = StageContext("report", ReportParams(), document=document).stamp
    other = StageContext("report", ReportParams(title="other"), document=document).stamp
    assert one.fingerprint == other.fingerprint
    assert one.params != other.params
