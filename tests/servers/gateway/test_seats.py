"""Sessions of several principals and several shards, over a restart of their pools."""

from __future__ import annotations

from pathlib import Path

import pytest

from servers.kernel.errors import CapacityError, UnknownHandleError
from servers.kernel.pool import SessionPool, Shard
from tests.servers.gateway.notes import CATALOG


def shards(of: int, directory: Path) -> list[SessionPool]:
    """A gateway's pools."""
    return [SessionPool(CATALOG, directory=directory, shard=Shard(number, of)) for number in range(of)]


def test_a_gateway_may_come_back_with_another_number_of_workers(tmp_path: Path) -> None:
    states = {}
    for number, pool in enumerate(shards(4, tmp_path)):
        for text in "ab"[: number % 2 + 1]:
            handle = pool.open(owner=f"p{number}")
            assert pool.call(handle, "add_note", {"text": text}, f"p{number}").ok
            states[handle] = pool.session(handle, f"p{number}").state_hash
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.jsonl")}
    for of in (1, 2, 3, 8):
        pools = shards(of, tmp_path)
        assert [len(pool) for pool in pools] == [
            sum(Shard.owning(handle, of) == number for handle in states) for number in range(of)
        ]
        for handle, state in states.items():
            owner = f"p{handle.partition('-')[2]}"
            assert pools[Shard.owning(handle, of)].session(handle, owner).state_hash == state
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.jsonl")} == before


def test_a_default_session_outlives_its_lifetime_and_its_process(tmp_path: Path) -> None:
    clock = [0.0]
    pool = SessionPool(CATALOG, directory=tmp_path, lifetime=60.0, timer=lambda: clock[0])
    handle, other = pool.default("ada"), pool.open(owner="ada")
    assert pool.call(handle, "add_note", {"text": "x"}, "ada").ok
    clock[0] = 61.0
    assert len(pool) == 1 and pool.default("ada") == handle != pool.default("bob") != other
    again = SessionPool(CATALOG, directory=tmp_path, lifetime=60.0)
    assert again.default("ada") == handle
    assert again.session(handle, "ada").state_hash == pool.session(handle, "ada").state_hash
    again.close(handle, "ada")
    assert again.default("ada") != handle


def test_a_running_call_keeps_its_session_from_expiring() -> None:
    clock = [0.0]
    pool = SessionPool(CATALOG, lifetime=60.0, timer=lambda: clock[0])
    running, idle = pool.open(), pool.open()
    pool.begin(running)
    clock[0] = 100.0
    assert len(pool) == 1
    pool.record(running)
    with pytest.raises(UnknownHandleError):
        pool.session(running, "somebody else")
    assert idle not in pool._seats


def test_closing_makes_room_for_its_principal() -> None:
    pool = SessionPool(CATALOG, capacity_each=1)
    first = pool.open(owner="ada")
    for attempt in (lambda: pool.open(owner="ada"), lambda: pool.fork(first, "ada"), lambda: pool.default("ada")):
        with pytest.raises(CapacityError, match="one principal"):
            attempt()
    pool.open(owner="bob")
    pool.close(first, "ada")
    pool.abandon(pool.open(owner="ada"), "ended")
    pool.open(owner="ada")
