"""Calls with a deadline: a hung one holds up nobody, and leaves nothing half done."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path

import pytest

from servers.gateway import calls, lanes
from servers.gateway.lifecycle import Phase
from servers.gateway.limits import Limits
from servers.kernel.errors import HarnessError, KernelFault
from servers.kernel.pool import SessionPool
from servers.kernel.router import McpRouter
from tests.servers.gateway import notes
from tests.servers.gateway.notes import CATALOG
from tests.servers.gateway.running import ADA, gateway, until


@pytest.fixture(autouse=True)
def _hang_for_seconds_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of the test's own process has to end with it."""
    monkeypatch.setattr(notes, "LONG", 2.5)


async def test_a_hung_call_ends_with_a_typed_error_and_its_session(tmp_path: Path) -> None:
    async with (
        gateway(Limits(deadline=1.0), directory=tmp_path) as running,
        running.web(ADA) as web,
        McpRouter(running.url, token=ADA) as router,
    ):
        hung, other = await router.open(), await router.open()
        assert (await router.call(hung, "add_note", {"text": "before"})).ok
        call = asyncio.create_task(router.call(hung, "add_and_hang", {"text": "half"}))
        await asyncio.sleep(0.1)
        waiting = asyncio.create_task(router.call(hung, "count_notes", {}))
        assert (await web.get("/health")).status_code == 200
        assert (await router.call(other, "add_note", {"text": "meanwhile"})).ok
        assert not call.done(), "nobody waited for the hung call"
        answer = await call
        assert (answer.ok, answer.error_code, answer.infrastructure) == (False, KernelFault.TIMEOUT, True)
        assert "its session was closed" in answer.text
        for late in (await waiting, await router.call(hung, "count_notes", {})):
            assert late.infrastructure and "not done within 1 s" in late.text
        assert [path.stem for path in tmp_path.glob("*.jsonl")] == [other]
        assert (await router.call(other, "count_notes", {})).text == '{"notes":2}'
        page = (await web.get("/metrics")).text
        assert 'prove_calls_total{outcome="timeout",server="notes"} 1.0' in page
        assert 'prove_sessions_total{event="abandoned"} 1.0' in page
        await asyncio.sleep(1.6)
        assert [path.stem for path in tmp_path.glob("*.jsonl")] == [other], "the late write reached nothing"
    assert len(SessionPool(CATALOG, directory=tmp_path)) == 1


async def test_a_call_that_had_not_begun_leaves_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LANES", 1)
    async with gateway(Limits(deadline=0.6)) as running, McpRouter(running.url, token=ADA) as router:
        hung, second = await router.open(), await router.open()
        first = asyncio.create_task(router.call(hung, "add_and_hang", {"text": "x"}))
        await asyncio.sleep(0.1)
        late = await router.call(second, "add_note", {"text": "x"})
        assert late.error_code == KernelFault.TIMEOUT and "had not begun" in late.text
        assert (await first).error_code == KernelFault.TIMEOUT
        await asyncio.sleep(2.0)
        assert (await router.call(second, "count_notes", {})).text == '{"notes":1}'


async def test_calls_of_one_session_run_one_after_the_other() -> None:
    async with gateway() as running, McpRouter(running.url, token=ADA) as router:
        handle = await router.open()
        answers = await asyncio.gather(*(router.call(handle, "add_slowly", {"text": f"{n}"}) for n in range(4)))
        assert all(answer.ok for answer in answers)
        session = running.pool.session(handle, "ada")
        assert CATALOG.replay(session).state_hash == session.state_hash
        await router.close(handle)


async def test_a_client_that_leaves_does_not_cut_its_call(tmp_path: Path) -> None:
    async with gateway(directory=tmp_path) as running, McpRouter(running.url, deadline=0.1, token=ADA) as router:
        handle = running.pool.open(owner="ada")
        left = await router.call(handle, "add_slowly", {"text": "late"})
        assert left.error_code == KernelFault.TIMEOUT
        assert running.lifecycle.running > 0
        await asyncio.to_thread(until, lambda: running.lifecycle.running == 0, 20.0, "the call goes on")
        assert len(running.pool.session(handle, "ada").log) == 1
        assert (tmp_path / f"{handle}.jsonl").read_text().count("\n") == 2


async def test_many_hung_calls_ask_for_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_STUCK", 2)
    async with gateway(Limits(deadline=0.3)) as running, McpRouter(running.url, token=ADA) as router:
        handles = [await router.open() for _ in range(2)]
        await asyncio.gather(*(router.call(handle, "add_and_hang", {"text": "x"}) for handle in handles))
        assert (running.lifecycle.phase, running.lifecycle.exit_code) == (Phase.DRAINING, calls.EXIT_STUCK)


async def test_labels_are_never_what_a_model_wrote() -> None:
    async with gateway() as running, running.web(ADA) as web, McpRouter(running.url, token=ADA) as router:
        handle = await router.open()
        await router.call(handle, "add_note", {"text": "a secret of the model"})
        await router.call(handle, "add_note", {"text": ""})
        await router.call(handle, "add_note", {"made_up": 1})
        await router.call("f" * 32, "add_note", {"text": "x"})
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "made_up_tool", "arguments": {}},
        }
        message["params"]["_meta"] = {"prove-pipeline/session": handle}  # type: ignore[index]
        types = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        assert "made_up_tool" in (await web.post("/mcp", json=message, headers=types)).text
        page = (await web.get("/metrics")).text
        for outcome, server, count in (("ok", "notes", 1), ("tool_error", "notes", 2), ("refused", "", 2)):
            assert f'prove_calls_total{{outcome="{outcome}",server="{server}"}} {count}.0' in page
        assert 'prove_call_seconds_bucket{le="30.0",server="notes"} 3.0' in page
        for text in ("secret", "made_up", handle, ADA, "ada", "add_note", "f" * 32):
            assert text not in page


def test_a_full_disk_closes_the_session_and_keeps_its_journal(tmp_path: Path) -> None:
    pool = SessionPool(CATALOG, directory=tmp_path)
    handle = pool.open()
    pool.call(handle, "add_note", {"text": "kept"})
    path = tmp_path / f"{handle}.jsonl"
    state, journal = pool.session(handle).state_hash, path.read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(journal) + 10, before[1]))  # as if ten bytes were left
    try:
        with pytest.raises(HarnessError, match="cannot be written"):
            pool.call(handle, "add_note", {"text": "lost"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises(HarnessError, match="cannot be written"):
        pool.session(handle)
    assert path.read_bytes() == journal
    assert SessionPool(CATALOG, directory=tmp_path).session(handle).state_hash == state
