"""Several workers behind one front: each session stays with its worker, and a lost worker is only that."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest

from servers.kernel.pool import Shard
from servers.kernel.router import McpRouter
from tests.servers.gateway.running import ADA, BOB, process, until

WORKERS = 3
TOKENS = f"ada={ADA},bob={BOB}"


def children(pid: int) -> list[psutil.Process]:
    """The gateway's processes, the front last."""
    return sorted(psutil.Process(pid).children(), key=lambda child: (child.create_time(), child.pid))


def test_a_handle_says_who_owns_it_and_keeps_its_random_bits() -> None:
    for of in (1, 2, 8):
        for number in range(of):
            handle = Shard(number, of).mint()
            assert Shard.owning(handle, of) == number and len(handle.partition("-")[0]) == 32
            assert all(Shard.owning(handle, other) in range(other) for other in range(1, 9))
    for text in ("", "x", "../x", f"{'0' * 32}-", f"{'0' * 32}-1234", f"{'0' * 32}-1\n", f"{'0' * 32}-\u0661"):
        assert Shard.owning(text, 4) == 0
    assert len({Shard(1, 4).mint() for _ in range(2_000)}) == 2_000


@pytest.mark.timeout(480)
async def test_sessions_live_with_their_worker(tmp_path: Path) -> None:
    options = ("--workers", f"{WORKERS}", "--journal", str(tmp_path), "--capacity-each", "7", "--grace", "10")
    with process(*options, PROVE_GATEWAY_TOKENS=TOKENS) as running:
        async with McpRouter(running.url, token=ADA) as ada, McpRouter(running.url, token=BOB) as bob:
            handles = [await ada.open() for _ in range(7)]
            assert sorted(Shard.owning(handle, WORKERS) for handle in handles) == [0, 0, 0, 1, 1, 2, 2]
            full = await asyncio.to_thread(running.post, "/sessions", ADA)
            assert full.status_code == 503 and "one principal" in full.text
            for number, handle in enumerate(handles):
                for _ in range(number + 1):
                    assert (await ada.call(handle, "add_note", {"text": "x"})).ok
            assert [await count(ada, handle) for handle in handles] == [number + 2 for number in range(7)]
            assert not (await bob.call(handles[0], "count_notes", {})).ok

            states = {handle: await ada.state_hash(handle) for handle in handles}
            first, *_, front = children(running.popen.pid)
            lost = [handle for handle in handles if Shard.owning(handle, WORKERS) == 0]
            first.kill()
            others = [handle for handle in handles if handle not in lost]
            assert [await ada.state_hash(handle) for handle in others] == [states[handle] for handle in others]
            assert [await ada.state_hash(handle) for handle in lost] == [states[handle] for handle in lost]

            page = (await asyncio.to_thread(running.get, "/metrics", ADA)).text
            for number, seats in ((0, 3.0), (1, 2.0), (2, 2.0)):
                assert f'prove_sessions_open{{worker="{number}"}} {seats}' in page
            assert page.count("# TYPE prove_calls_total counter") == 1

            front.kill()
            await asyncio.to_thread(until, lambda: running.status("/ready") == 200, 30.0, "the front is not back")
            async with McpRouter(running.url, token=ADA) as again:
                slow = asyncio.create_task(again.call(handles[1], "add_slowly", {"text": "last"}))
                await asyncio.sleep(0.15)
                processes = children(running.popen.pid)
                running.popen.send_signal(signal.SIGTERM)
                assert (await slow).ok
        assert running.popen.wait(30) == 0
        assert not any(child.is_running() for child in processes)
        assert len(list(tmp_path.glob("*.jsonl"))) == 7


@pytest.mark.timeout(480)
async def test_without_journals_only_the_lost_worker_s_handles_are_gone() -> None:
    with process("--workers", "2") as running:
        async with McpRouter(running.url) as router:
            zero, one = await router.open(), await router.open()
            processes = children(running.popen.pid)
            hung = asyncio.create_task(router.call(zero, "add_and_hang", {"text": "x"}))
            await asyncio.sleep(0.2)
            processes[0].kill()
            cut = await hung
            assert cut.infrastructure and "worker 0 ended" in cut.text
            gone = await router.call(zero, "count_notes", {})
            assert gone.infrastructure and "no open session" in gone.text
            assert await count(router, one) == 1
        os.kill(running.popen.pid, signal.SIGKILL)
        running.popen.wait(10)
        await asyncio.to_thread(
            until, lambda: not any(child.is_running() for child in processes), 20.0, "processes are left"
        )


async def count(router: McpRouter, handle: str) -> int:
    """How many notes a session has."""
    return int((await router.call(handle, "count_notes", {})).text.removeprefix('{"notes":').removesuffix("}"))
