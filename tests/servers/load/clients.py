"""Clients of an HTTP server that die: forked from one process that has their imports, and killed with SIGKILL."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import select
import time
from multiprocessing.context import ForkProcess

from servers.kernel.dice import Dice
from servers.kernel.router import McpRouter

FORK = multiprocessing.get_context("fork")
PATIENCE = 120.0
TOOL = "list_accounts"
"""A tool that takes no arguments."""


async def open_and_call(url: str, ready: int) -> None:
    """Open two sessions, call in each, say so, and never close them."""
    async with McpRouter(url, deadline=PATIENCE) as router:
        for _ in range(2):
            handle = await router.open()
            answer = await router.call(handle, TOOL, {})
            assert answer.ok, answer.text
        os.write(ready, b"1")
        await asyncio.sleep(PATIENCE * 10)


def _client(url: str, ready: int) -> None:
    asyncio.run(open_and_call(url, ready))


def kill_clients(url: str, count: int, wave: int, seed: int = 1) -> int:
    """Start clients in waves and kill all of them; how many were killed.

    Of each wave one half is killed with its sessions open and its calls answered, the other half at moments of the
    dice: while they connect, open or call.
    """
    dice, killed = Dice(seed, "clients"), 0
    unheard = os.open(os.devnull, os.O_WRONLY)
    while killed < count:
        size = min(wave, count - killed)
        reading, writing = os.pipe()
        patient = [FORK.Process(target=_client, args=(url, writing)) for _ in range(size - size // 2)]
        hasty = [FORK.Process(target=_client, args=(url, unheard)) for _ in range(size // 2)]
        for process in (*hasty, *patient):
            process.start()
        os.close(writing)
        for process in hasty:
            time.sleep(dice.unit() * 0.1)
            _kill(process)
        _read(reading, len(patient))
        for process in patient:
            _kill(process)
        os.close(reading)
        killed += size
    os.close(unheard)
    return killed


def _kill(process: ForkProcess) -> None:
    process.kill()
    process.join()
    assert process.exitcode == -9, f"a client ended by itself with {process.exitcode}"


def _read(reading: int, wanted: int) -> None:
    """Wait for as many words of readiness."""
    end, seen = time.monotonic() + PATIENCE, 0
    while seen < wanted:
        readable, _, _ = select.select([reading], [], [], end - time.monotonic())
        said = os.read(reading, 4096) if readable else b""
        assert said, f"{seen} of {wanted} clients were ready within {PATIENCE:g} s"
        seen += len(said)
