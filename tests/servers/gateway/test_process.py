"""A gateway as a process: its journals over a kill, its one owner, its drain."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from servers.__main__ import app
from servers.kernel.errors import HarnessError
from servers.kernel.router import McpRouter
from tests.servers.gateway.running import ADA, BOB, ROOT, Process, process, until

TOKENS = f"ada={ADA},bob={BOB}"


def lines(path: Path) -> dict[str, bytes]:
    """Every journal's bytes."""
    return {file.stem: file.read_bytes() for file in path.glob("*.jsonl")}


async def kill_in_the_middle_of_writes(running: Process, folder: Path) -> tuple[str, str, int]:
    """Write into a session until the gateway is killed; the handles and how many writes were answered."""
    async with McpRouter(running.url, token=ADA) as ada, McpRouter(running.url, token=BOB) as bob:
        mine, other = await ada.open(), await bob.open(3)
        await bob.call(other, "add_note", {"text": "theirs"})
        await bob.user_turn(other)
        answered = 0
        writes = asyncio.create_task(_write_on(ada, mine))
        while answered < 20:
            await asyncio.sleep(0.01)
            answered = lines(folder)[mine].count(b"\n") - 1
        running.popen.kill()
        running.popen.wait(10)
        return mine, other, await writes


async def _write_on(router: McpRouter, handle: str) -> int:
    count = 0
    while (await router.call(handle, "add_note", {"text": f"note {count} " + "x" * 500})).ok:
        count += 1
    return count


@pytest.mark.timeout(480)
async def test_a_killed_gateway_comes_back_and_a_stopped_one_drains(tmp_path: Path) -> None:
    options = ("--journal", str(tmp_path), "--grace", "30")
    with process(*options, PROVE_GATEWAY_TOKENS=TOKENS, NOTES_SHORT="4") as running:
        second = subprocess.run(
            [sys.executable, "-m", "tests.servers.gateway.served", "--http", "--port", "0", "--journal", str(tmp_path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert second.returncode == 2 and f"process {running.popen.pid}" in second.stderr
        mine, other, answered = await kill_in_the_middle_of_writes(running, tmp_path)
        with (tmp_path / f"{other}.jsonl").open("ab") as file:
            file.write(b'{"tool": "add_no')
        before = {handle: text[: text.rindex(b"\n") + 1] for handle, text in lines(tmp_path).items()}
        assert before[mine].count(b"\n") - 1 - answered in (0, 1), "what was answered is there; the last may be too"

        running.start()
        assert lines(tmp_path) == before
        async with McpRouter(running.url, token=ADA) as ada, McpRouter(running.url, token=BOB) as bob:
            states = [await ada.state_hash(mine), await bob.state_hash(other)]
            assert not (await bob.call(mine, "count_notes", {})).ok, "principals survive as well"
            kept = before[mine].count(b"\n") - 1
            assert f'{{"notes":{kept + 1}}}' == (await ada.call(mine, "count_notes", {})).text

            slow = asyncio.create_task(ada.call(mine, "add_slowly", {"text": "last"}))
            idle = asyncio.create_task(bob.call(other, "add_slowly", {"text": "last"}))
            await asyncio.sleep(0.3)
            running.popen.send_signal(signal.SIGTERM)
            await asyncio.to_thread(until, lambda: running.status("/ready") == 503, 3.0, "still ready")
            refused = await asyncio.to_thread(running.post, "/sessions", ADA)
            assert refused.status_code == 503 and "draining" in refused.text and running.status("/health") == 200
            assert (await slow).ok and (await idle).ok, "running calls finish"
        assert running.popen.wait(20) == 0

        running.start()
        async with McpRouter(running.url, token=ADA) as ada, McpRouter(running.url, token=BOB) as bob:
            assert [await ada.state_hash(mine), await bob.state_hash(other)] != states
            assert f'{{"notes":{kept + 2}}}' == (await ada.call(mine, "count_notes", {})).text
        assert set(lines(tmp_path)) == {mine, other}


@pytest.mark.timeout(300)
async def test_a_drain_does_not_wait_for_a_hung_call(tmp_path: Path) -> None:
    with process("--journal", str(tmp_path), "--grace", "0.5") as running:
        async with McpRouter(running.url) as router:
            handle = await router.open()
            assert (await router.call(handle, "add_note", {"text": "before"})).ok
            journal = lines(tmp_path)
            hung = asyncio.create_task(router.call(handle, "add_and_hang", {"text": "x"}))
            await asyncio.sleep(0.3)
            running.popen.send_signal(signal.SIGTERM)
            assert (await hung).infrastructure
        assert running.popen.wait(20) == 0
        assert lines(tmp_path) == journal, "the call never happened, and its session waits for the next start"


def test_unsafe_starts_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROVE_GATEWAY_TOKENS", raising=False)
    tokens = tmp_path / "tokens"
    tokens.write_text("ada=short\n")
    for options, words in (
        (["--host", "0.0.0.0"], "--tokens"),
        (["--tokens", str(tokens)], "entry 1"),
        (["--host", "203.0.113.7", "--allowed-host", "x", "--workers", "2"], "--tokens"),
    ):
        with pytest.raises(HarnessError, match=words):
            app(["serve", "--http", *options], standalone_mode=False)
