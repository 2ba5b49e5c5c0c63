"""Shards on a real Ray cluster: the bytes of a local run, and what becomes of workers that die or fail."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from stages.artifacts import ArtifactError
from stages.params import ParamsError, SynthesizeParams, TeacherParams, params_hash
from stages.synthesize import workers
from stages.synthesize.shards import Shards
from stages.synthesize.workers import Done, Order, run_shards, shared_out, write_on_ray, write_shard
from stages.teacher.ledger import Ledger
from tests.stages.synthesize.writing import SEED, chains, context, jobs, params, write

CONVERSATIONS = 60
ON_RAY = params(conversations=CONVERSATIONS, workers="ray", ray_workers=2)


class Trap:
    """Turns into the value of an expression where it is unpickled, in a worker."""

    def __init__(self, expression: str, **names: Any) -> None:
        self.expression, self.names = expression, names

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, (self.expression, self.names)


def order(some: Any) -> bytes:
    """A shard of these jobs."""
    return pickle.dumps(Order(ON_RAY, SEED, context(ON_RAY).document, chains(), some))


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.rglob("*.json")}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cluster of two workers, with a Prefect server, for all tests."""
    pytest.importorskip("ray")
    pytest.importorskip("prefect_ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(tmp_path_factory.mktemp("prefect")))
        with workers._cluster(ON_RAY):
            yield


@pytest.mark.slow
@pytest.mark.timeout(600)
class TestOnRay:
    """One cluster serves all of these."""

    @pytest.fixture(autouse=True)
    def small(self, cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workers, "SHARD_SIZE", 10)
        monkeypatch.setattr(workers, "_cluster", lambda params: nullcontext())

    def test_two_workers_write_the_bytes_of_one_process(self, tmp_path: Path) -> None:
        ctx = context(ON_RAY)
        here, there = Shards(tmp_path / "here", ctx.stamp, ""), Shards(tmp_path / "there", ctx.stamp, "")
        local = write(params(conversations=CONVERSATIONS))
        for number in range(6):
            here.write(number, local[number * 10 : number * 10 + 10])
        before: list[dict[str, Any]] = [{"id": "written before", "unwritten": "no_plan"}]
        there.write(2, before)
        write_on_ray(ctx, chains(), jobs(ON_RAY), there, Ledger())
        assert there.read(2) == before
        there.write(2, local[20:30])
        assert contents(tmp_path / "there") == contents(tmp_path / "here")

    def test_the_shard_of_a_dead_worker_is_tried_again(self, tmp_path: Path) -> None:
        some, died = jobs(ON_RAY)[:2], tmp_path / "died"
        once = "jobs if died.exists() else died.touch() or __import__('os')._exit(9)"
        found: dict[int, Done] = {}
        run_shards({0: order(some), 1: order(Trap(once, jobs=some, died=died))}, 2, found.__setitem__)
        assert died.exists()
        assert found[0].rows == found[1].rows == write_shard(order(some)).rows

    def test_a_shard_that_fails_twice_ends_the_stage_with_its_cause(self, tmp_path: Path) -> None:
        good, tries = order(jobs(ON_RAY)[:2]), tmp_path / "tries"
        bad = order(Trap("tries.open('a').write('x') / 0", tries=tries))
        found: dict[int, Done] = {}
        with pytest.raises(ArtifactError, match=r"shard 1 failed 2 times \(ZeroDivisionError: .*are kept"):
            run_shards({0: good, 1: bad, 2: good}, 1, found.__setitem__)
        assert tries.read_text() == "xx" and list(found) == [0]


def test_who_writes_is_no_part_of_what_is_written() -> None:
    assert params_hash(ON_RAY) == params_hash(params(conversations=CONVERSATIONS))
    assert params_hash(ON_RAY) != params_hash(params(conversations=CONVERSATIONS + 1))


def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    ctx = context(ON_RAY)
    with pytest.raises(ParamsError, match=r"needs the extra 'ray' .*pip install -e '\.\[ray\]'"):
        write_on_ray(ctx, chains(), jobs(ON_RAY), Shards(tmp_path, ctx.stamp, ""), Ledger())


@pytest.mark.parametrize(
    ("teacher", "advice"),
    [
        ({"budget": 5.0}, "teacher.budget is kept by one process.*set it to null"),
        ({"model": "hosted_vllm/x", "serve": "vllm"}, "start it yourself and name it in teacher.api_base"),
    ],
)
def test_a_teacher_that_workers_cannot_share_is_refused(teacher: dict[str, Any], advice: str) -> None:
    with pytest.raises(ParamsError, match=advice):
        shared_out(context(ON_RAY, teacher=teacher))


def test_each_worker_asks_its_share() -> None:
    shares = shared_out(context(ON_RAY, teacher={"concurrency": 7, "requests_per_minute": 1, "temperature": 0.4}))
    block = TeacherParams(**shares["teacher"])
    assert (block.concurrency, block.requests_per_minute, block.tokens_per_minute) == (3, 1, None)
    assert block.temperature == 0.4 and shares["bootstrap"] == context(ON_RAY).document["bootstrap"]


def test_nothing_is_started_when_every_shard_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_cluster", None)
    ctx = context(SynthesizeParams(workers="ray"))
    shards = Shards(tmp_path, ctx.stamp, "")
    for number in range(2):
        shards.write(number, [])
    write_on_ray(ctx, chains(), jobs(ON_RAY), shards, Ledger())
