"""Paths that our own commands take: what no file system can hold is refused in words, before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.grid import load_grid
from servers.__main__ import app
from servers.kernel.catalog import load_catalog
from servers.kernel.errors import HarnessError
from servers.kernel.pool import SessionPool
from stages.evaluate.compare_command import compare
from stages.params import (
    AbstentionSetParams,
    BenchmarkParams,
    BootstrapParams,
    DecontaminateParams,
    ParamsError,
    TeacherParams,
    check_block,
    load_params,
)
from stages.train.config import PolicyConfig
from stages.train.serve import serve

LONG = ("n" * 5_000, "a/" * 2_500, "n" * 300)
KEYS = [
    (BootstrapParams, "policy"),
    (TeacherParams, "cache"),
    (DecontaminateParams, "tau2"),
    (DecontaminateParams, "acebench"),
    (DecontaminateParams, "teval"),
    (BenchmarkParams, "data"),
    (BenchmarkParams, "code"),
    (PolicyConfig, "base"),
    (PolicyConfig, "cache_dir"),
]


@pytest.mark.parametrize(("kind", "key"), KEYS)
def test_a_parameter_that_can_be_no_path_is_named(kind: type, key: str) -> None:
    for path in (*LONG, "a\0b", "\0"):
        with pytest.raises(ParamsError, match=rf"^block\.{key}: .*must be a path") as caught:
            check_block(kind, {key: path}, "block")
        assert len(str(caught.value)) < 300
    for path in ("../x", "%2e%2e/x", "a b/é", "."):
        assert getattr(check_block(kind, {key: path}, "block"), key) == path


def test_a_set_of_questions_is_a_path_too() -> None:
    with pytest.raises(ParamsError, match="must be a path"):
        check_block(AbstentionSetParams, {"path": "a\0b", "format": "when2call"}, "block")


@pytest.fixture
def loop(tmp_path: Path) -> str:
    """Two links that lead to each other."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    return str(tmp_path / "a")


def test_arguments_that_can_be_no_path_are_refused(loop: str, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (*LONG, "../nowhere/x", "%2e%2e/x", loop):
        told = CliRunner().invoke(app, ["coverage", "--write", path])
        assert told.exit_code == 2 and "--write" in told.output
        with pytest.raises(ParamsError, match="there is no grid"):
            load_grid(path)
        with pytest.raises(ParamsError):
            load_params(Path(path))
        with pytest.raises(SystemExit) as ended:
            serve([path])
        assert ended.value.code == 2 and "holds no weights" in capsys.readouterr().err
        assert compare([path, f"{path}:x"]) == 1
        assert capsys.readouterr().err.startswith("compare: ")


def test_a_directory_for_journals_that_cannot_be_is_refused(loop: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (*LONG, loop, str(tmp_path / "file"), str(tmp_path / "file" / "x")):
        with pytest.raises(HarnessError, match=r"journals cannot be kept: .*; name another directory"):
            SessionPool(load_catalog(("banking",)), directory=Path(path))
