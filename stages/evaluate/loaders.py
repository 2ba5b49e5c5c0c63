"""How each benchmark is made from its block of `params.yaml`; each is imported here and nowhere before.

Every loader takes the block and the run's seed, and raises BenchmarkUnavailableError, at the latest when the
tasks are read, if a package or a directory is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.evaluate.benchmark import Benchmark, BenchmarkUnavailableError
from stages.params import BenchmarkParams, ParamsError, TeacherParams

if TYPE_CHECKING:
    from stages.evaluate.tau2 import LiteLlmUser

TRIALS_WITH_USER = 4


def bfcl(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """BFCL multi-turn, from its package."""
    from stages.evaluate.bfcl.adapter import Bfcl

    return Bfcl()


def tau2(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """τ²-bench: the solo tracks, and those with a user where `user` names a model that plays it.

    Raises:
        ParamsError: a user model with less than four trials, which say nothing of reliability.
    """
    from stages.evaluate.tau2 import Tau2
    from stages.evaluate.tau2.tasks import SOLO, TRACKS

    user = _user(own)
    if user is not None and own.trials < TRIALS_WITH_USER:
        raise ParamsError(
            f"evaluate.benchmarks.tau2.trials is {own.trials}: with a user model each task needs at least "
            f"{TRIALS_WITH_USER}, for pass^k"
        )
    return Tau2(
        _path(own.data), tracks=SOLO if user is None else tuple(TRACKS), user=user, trials=own.trials, seed=seed
    )


def acebench_en(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """ACEBench, English, in its own notation."""
    from stages.evaluate.acebench import en_native

    return en_native(_path(own.data))


def acebench_en_training(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """ACEBench, English, as tools and tool calls."""
    from stages.evaluate.acebench import en_training

    return en_training(_path(own.data))


def acebench_zh(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """ACEBench, Chinese, in its own notation."""
    from stages.evaluate.acebench import zh_native

    return zh_native(_path(own.data))


def acebench_zh_training(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """ACEBench, Chinese, as tools and tool calls."""
    from stages.evaluate.acebench import zh_training

    return zh_training(_path(own.data))


def acebench_agent(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """ACEBench's English agent tasks; multi-turn ones only with a `user`."""
    from stages.evaluate.acebench import AceAgent

    if own.data is None or own.code is None:
        raise BenchmarkUnavailableError(
            "ACEBench's agent tasks need `data` and `code`: clone https://github.com/ACEBench/ACEBench, "
            "and name its folder data_all and the clone itself"
        )
    return AceAgent(Path(own.data), Path(own.code), user=_user(own))


def teval(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """T-Eval, from a directory."""
    from stages.evaluate.teval import Teval

    return Teval(_path(own.data))


def tooltalk(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """ToolTalk, from its package; `data` names the directory of its text encoder."""
    from stages.evaluate.tooltalk import Tooltalk

    return Tooltalk(_path(own.data))


def nestful(own: BenchmarkParams, seed: int) -> Benchmark[Any]:
    """NESTFUL, from its package."""
    from stages.evaluate.nestful import Nestful

    return Nestful()


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _user(own: BenchmarkParams) -> LiteLlmUser | None:
    """The model that plays the user, asked as hosted agents are."""
    if own.user is None:
        return None
    from stages.evaluate.tau2 import LiteLlmUser
    from stages.teacher.client import Teacher

    return LiteLlmUser(Teacher(TeacherParams(**own.user.model_dump())))
