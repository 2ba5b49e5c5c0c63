"""Shards written on a Ray cluster: each shard is one Prefect task, and its rows are those of a local run.

A worker gets all that a shard is made from and sends its rows back; this process alone writes files. A shard whose
worker dies or whose code fails is tried once more, on whichever worker is free; if it fails again the stage fails
with the cause, and the shards that were finished are kept. At most `ray_workers` shards are under way at a time.
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.artifacts import ArtifactError
from stages.discover.edges import Chain
from stages.params import ParamsError, SynthesizeParams, TeacherParams
from stages.stage import StageContext
from stages.synthesize.mix import Job
from stages.synthesize.shards import SHARD_SIZE, Shards
from stages.synthesize.writer import Writer
from stages.teacher.ledger import Ledger
from stages.teacher.team import open_teachers

if TYPE_CHECKING:
    from prefect_ray.task_runners import PrefectRayFuture

TRIES = 2
"""How often a shard is tried."""

_SETTINGS = {
    "DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_HOME": str(Path(".cache", "prefect").resolve()),
}
"""What Ray and Prefect are told unless the environment says otherwise; failures are told by the stage."""


@dataclass(frozen=True, slots=True)
class Order:
    """All that one shard is made from."""

    params: SynthesizeParams
    seed: int
    document: Mapping[str, Any]
    chains: Sequence[Chain]
    jobs: Sequence[Job]


@dataclass(frozen=True, slots=True)
class Done:
    """The rows of a finished shard, and what its teachers used."""

    rows: list[dict[str, Any]]
    ledger: Ledger


def write_on_ray(
    ctx: StageContext[SynthesizeParams], chains: Sequence[Chain], jobs: Sequence[Job], shards: Shards, ledger: Ledger
) -> None:
    """Have the shards that are missing written by Ray workers, and keep each as soon as it is finished.

    Args:
        ctx: the stage's params and seed.
        chains: those that conversations are written along.
        jobs: all conversations of the run.
        shards: where shards are kept.
        ledger: takes what the workers' teachers used.

    Raises:
        ParamsError: the extra is missing, or the teacher is one that workers cannot share.
        ArtifactError: the cluster cannot be reached, or a shard failed twice.
    """
    document = shared_out(ctx)
    starts = enumerate(range(0, len(jobs), SHARD_SIZE))
    parts = {n: jobs[start : start + SHARD_SIZE] for n, start in starts if shards.read(n) is None}
    if not parts:
        return
    orders = {n: pickle.dumps(Order(ctx.params, ctx.seed, document, chains, part)) for n, part in parts.items()}

    def keep(number: int, done: Done) -> None:
        shards.write(number, done.rows)
        for role, usage in done.ledger.roles.items():
            ledger.roles[role] = ledger.of(role) + usage
        bar.advance(len(done.rows), failed=sum("unwritten" in row for row in done.rows))

    with _cluster(ctx.params), ctx.progress("Writing on Ray", total=sum(map(len, parts.values()))) as bar:
        run_shards(orders, ctx.params.ray_workers, keep)


def run_shards(orders: Mapping[int, bytes], workers: int, keep: Callable[[int, Done], None]) -> None:
    """Run pickled orders on the cluster that is connected, `workers` at a time, each as a Prefect task.

    Raises:
        ArtifactError: one failed twice; says which, and why.
    """
    from prefect import task
    from prefect.cache_policies import NO_CACHE
    from prefect_ray import RayTaskRunner

    shard = task(name="shard", cache_policy=NO_CACHE)(write_shard)
    with RayTaskRunner() as runner:
        _gather(lambda order: runner.submit(shard, {"order": order}), orders, workers, keep)


def write_shard(order: bytes) -> Done:
    """The rows of one shard, written in this process, and what its teachers used."""
    given: Order = pickle.loads(order)
    ctx = StageContext("synthesize", given.params, given.seed, given.document)
    with open_teachers(ctx.block(TeacherParams, "teacher"), ctx.name) as teachers:
        rows = asyncio.run(Writer(ctx, given.chains, teachers).shard(given.jobs))
    return Done(rows, teachers.ledger)


def shared_out(ctx: StageContext[SynthesizeParams]) -> dict[str, Any]:
    """The blocks of `params.yaml` for a worker: each may ask the teacher its share of what all of them may.

    Raises:
        ParamsError: the teacher has a budget, which nobody can keep for all workers, or is to be served from here.
    """
    teacher, workers = ctx.block(TeacherParams, "teacher"), ctx.params.ray_workers
    if teacher.budget is not None:
        raise ParamsError("teacher.budget is kept by one process: with synthesize.workers ray, set it to null")
    if teacher.serve != "none":
        raise ParamsError(
            "teacher.serve starts a server for one process: with synthesize.workers ray, start it yourself "
            "and name it in teacher.api_base"
        )
    limits = ("concurrency", "requests_per_minute", "tokens_per_minute")
    shares = {name: max(1, value // workers) for name in limits if (value := getattr(teacher, name)) is not None}
    return {**ctx.document, "teacher": teacher.model_copy(update=shares).model_dump(mode="json")}


def _gather(
    submit: Callable[[bytes], PrefectRayFuture[Done]],
    orders: Mapping[int, bytes],
    workers: int,
    keep: Callable[[int, Done], None],
) -> None:
    import ray
    from prefect_ray.context import remote_options

    waiting, tries = list(orders), Counter[int]()
    running: dict[Any, tuple[int, PrefectRayFuture[Done]]] = {}
    while waiting or running:
        with remote_options(max_retries=0):  # tries are counted here, whatever made them fail
            while waiting and len(running) < workers:
                number = waiting.pop(0)
                tries[number] += 1
                future = submit(orders[number])
                running[future.wrapped_future] = (number, future)
        ready, _ = ray.wait(list(running), num_returns=1)
        number, future = running.pop(ready[0])
        try:
            done = future.result()
        except Exception as error:  # whatever it was, the shard may succeed elsewhere
            if tries[number] >= TRIES:
                raise _failed(number, error) from error
            waiting.insert(0, number)
            continue
        keep(number, done)


def _failed(number: int, error: Exception) -> ArtifactError:
    return ArtifactError(
        f"shard {number} failed {TRIES} times ({_cause(error)}); finished shards are kept: "
        "mend the cause and run the stage again"
    )


def _cause(error: Exception) -> str:
    return f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), '')}"


@contextmanager
def _cluster(params: SynthesizeParams) -> Iterator[None]:
    """A connection to the cluster of `ray_address`, or a cluster of this machine's own, and a Prefect server."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    Path(os.environ["PREFECT_HOME"]).mkdir(parents=True, exist_ok=True)
    try:
        import prefect_ray  # noqa: F401
        import ray
        from prefect.server.api.server import SubprocessASGIServer
        from prefect.settings import PREFECT_API_URL, temporary_settings
    except ImportError as error:
        raise ParamsError(
            f"synthesize.workers: ray needs the extra 'ray' ({error}): run `pip install -e '.[ray]'`, "
            "or set synthesize.workers to local"
        ) from None
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if params.ray_address is None:
            ray.init(address="local", num_cpus=params.ray_workers, include_dashboard=False, **quiet)
        else:
            ray.init(address=params.ray_address, runtime_env={"working_dir": str(Path.cwd())}, **quiet)
    except Exception as error:  # Ray raises bare ones where a node does not come up
        where = f"at {params.ray_address}" if params.ray_address else "on this machine"
        raise ArtifactError(
            f"synthesize.ray_address: no Ray cluster {where} ({_cause(error)}): start one with `ray start --head` "
            "and name it, or set synthesize.workers to local"
        ) from error
    try:
        if params.ray_address is None and not PREFECT_API_URL.value():
            server = SubprocessASGIServer()  # else every worker starts one of its own
            server.start()
            with temporary_settings({PREFECT_API_URL: server.api_url}):
                yield
        else:
            yield
    finally:
        ray.shutdown()
