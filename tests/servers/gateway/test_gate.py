"""What the gate refuses: foreign names, unknown tokens, and more than the limits allow."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mcp.shared.exceptions import MCPError

from servers.gateway.hosts import Hosts, hosts_for
from servers.gateway.limits import Buckets, Limits
from servers.gateway.principals import Principals, load_principals
from servers.kernel.errors import HarnessError
from servers.kernel.mcp import SESSION_KEY
from servers.kernel.router import HANDLE_SHOWN, McpRouter
from tests.servers.gateway.running import ADA, BOB, gateway

PATHS = ("/mcp", "/sessions", "/sessions/x", "/health", "/ready", "/metrics", "/nowhere")
TYPES = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


async def test_foreign_names_are_refused_on_every_path() -> None:
    async with gateway(tokens={}) as running, running.web() as web:
        port = urlsplit(running.url).port
        for path in PATHS:
            for name in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost@evil.example"):
                assert (await web.post(path, headers={**TYPES, "Host": name})).status_code == 421, (path, name)
            for origin in ("http://evil.example", "null", f"http://localhost.evil.example:{port}", "file://localhost"):
                assert (await web.post(path, headers={**TYPES, "Origin": origin})).status_code == 403, (path, origin)
        for host, origin in (("localhost", "http://localhost:3000"), (f"[::1]:{port}", f"https://[::1]:{port}")):
            assert (await web.post("/sessions", headers={"Host": host, "Origin": origin})).status_code == 201
        assert 'prove_refused_total{reason="host"} 28.0' in (await web.get("/metrics")).text


def test_an_open_address_needs_tokens_and_a_name() -> None:
    for bind in ("0.0.0.0", "::", "192.0.2.1", "gateway.example"):
        with pytest.raises(HarnessError, match="--tokens"):
            hosts_for(bind, ["gateway.example"], has_tokens=False)
    for bind in ("0.0.0.0", "::"):
        with pytest.raises(HarnessError, match="--allowed-host"):
            hosts_for(bind, [], has_tokens=True)
    assert hosts_for("0.0.0.0", ["Gateway.example"], has_tokens=True).serves("gateway.EXAMPLE:443")
    assert hosts_for("192.0.2.1", [], has_tokens=True).serves("192.0.2.1:8765")
    assert hosts_for("2001:db8::1", [], has_tokens=True).serves("[2001:db8::1]:8765")
    for bind in ("127.0.0.1", "::1", "localhost", "127.8.0.1"):
        assert not hosts_for(bind, [], has_tokens=False).serves("gateway.example")
    with pytest.raises(HarnessError, match="without scheme"):
        Hosts(["http://gateway.example"])


async def test_without_a_known_token_nothing_but_the_probes_answers() -> None:
    async with gateway() as running, running.web() as web:
        for header in (None, "", "Bearer", f"Basic {ADA}", f"Bearer {ADA}x", f"Bearer {ADA[:-1]}", ADA):
            given = {} if header is None else {"Authorization": header}
            for path in ("/mcp", "/sessions", "/metrics"):
                answer = await web.post(path, headers={**TYPES, **given}, content=b"{}")
                assert answer.status_code == 401, (path, header)
                assert answer.headers["www-authenticate"] == "Bearer"
        assert (await web.get("/health")).status_code == (await web.get("/ready")).status_code == 200
        with pytest.raises(ConnectionError, match="PROVE_GATEWAY_TOKEN"):
            async with McpRouter(running.url, token=""):
                pass


async def test_a_handle_works_for_its_principal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway() as running, running.web(BOB) as bob:
        monkeypatch.setenv("PROVE_GATEWAY_TOKEN", ADA)
        async with McpRouter(running.url) as ada, McpRouter(running.url, token=BOB) as stranger:
            handle = await ada.open()
            assert (await ada.call(handle, "add_note", {"text": "mine"})).ok
            state = await ada.state_hash(handle)
            unknown = f"{'0' * 31}{int(handle[-1] == '0')}"
            for name, argument in (("add_note", {"text": "theirs"}), ("count_notes", {})):
                foreign, none = [await stranger.call(h, name, argument) for h in (handle, unknown)]
                assert not foreign.ok and foreign.infrastructure
                assert without(foreign.text, handle) == without(none.text, unknown)
            for method in ("GET", "POST", "DELETE"):
                foreign, none = [await bob.request(method, f"/sessions/{h}") for h in (handle, unknown)]
                assert foreign.status_code == none.status_code == 404
                assert foreign.text.replace(handle, "H") == none.text.replace(unknown, "H")
                assert set(foreign.headers) == set(none.headers)
            assert await ada.state_hash(handle) == state
            running.pool.abandon(handle, "ended")
            after = await stranger.call(handle, "count_notes", {})
            assert without(after.text, handle).endswith(none.json()["error"].replace(unknown, "H"))
            assert (await ada.call(handle, "count_notes", {})).text.endswith(": ended")


def without(text: str, handle: str) -> str:
    """The text with the handle, whole or as messages show it, taken out."""
    return text.replace(handle, "H").replace(handle[:HANDLE_SHOWN], "H")


def test_tokens_are_read_strictly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# people\nada={ADA}\n\n bob={BOB}\n")
    known = load_principals(file)
    assert (known.identify(f"Bearer {ADA}".encode()), known.identify(f"bearer {BOB}".encode())) == ("ada", "bob")
    for text in ("ada", "ada=short", f"a b={ADA}", f"ada={ADA}\nada={BOB}", f"ada={ADA}\nbob={ADA}", "", "=" * 40):
        file.write_text(text)
        with pytest.raises(HarnessError) as caught:
            load_principals(file)
        assert str(file) in str(caught.value) and ADA not in str(caught.value)
    with pytest.raises(HarnessError, match="cannot be read"):
        load_principals(file.parent / "absent")
    monkeypatch.setenv("PROVE_GATEWAY_TOKENS", f"ada={ADA}, bob={BOB}")
    assert load_principals(None).identify(f"Bearer {BOB}".encode()) == "bob"
    monkeypatch.delenv("PROVE_GATEWAY_TOKENS")
    assert not load_principals(None) and Principals().identify(None) == ""


async def test_large_requests_are_refused_before_they_are_read() -> None:
    async with gateway(Limits(body=2_000)) as running, running.web(ADA) as web:
        for path in ("/mcp", "/sessions", "/nowhere"):
            assert (await web.post(path, content=b"x" * 2_001)).status_code == 413

            async def chunks() -> object:
                for _ in range(30):
                    yield b"x" * 100

            assert (await web.post(path, content=chunks())).status_code == 413  # type: ignore[arg-type]
        assert (await web.post("/sessions", content=b'{"seed": 1' + b" " * 1_980 + b"}")).status_code == 201
        async with McpRouter(running.url, token=ADA) as router:
            handle = await router.open()
            big = await router.call(handle, "add_note", {"text": "x" * 2_000})
            assert big.infrastructure and "larger than 2000 bytes" in big.text
            assert (await router.call(handle, "add_note", {"text": "x"})).ok


async def test_a_declared_size_alone_is_refused() -> None:
    async with gateway(Limits(body=2_000)) as running:
        where = urlsplit(running.url)
        with socket.create_connection((where.hostname, where.port)) as sock:
            head = f"POST /sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADA}\r\n"
            sock.sendall(f"{head}Content-Length: 9999999999999999999\r\n\r\n".encode())
            assert (await asyncio.to_thread(sock.recv, 100)).startswith(b"HTTP/1.1 413")


async def test_one_principal_s_rate_is_not_another_s() -> None:
    async with gateway(Limits(rate=3.0)) as running, running.web(ADA) as ada, running.web(BOB) as bob:
        answers = await asyncio.gather(*(ada.post("/sessions") for _ in range(12)))
        refused = [answer for answer in answers if answer.status_code == 429]
        assert 6 <= len(refused) <= 9 and all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        assert (await bob.post("/sessions")).status_code == 201
        async with McpRouter(running.url, token=BOB) as router:  # slows down by itself
            handles = [await router.open() for _ in range(5)]
        assert len(set(handles)) == 5


def test_a_bucket_fills_with_time() -> None:
    clock = [0.0]
    buckets = Buckets(2.0, lambda: clock[0])
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    assert buckets.wait("b") == 0.0
    clock[0] = 0.5
    assert [buckets.wait("a") for _ in range(2)] == [0.0, 0.5]


async def test_too_much_at_once_waits_outside() -> None:
    async with (
        gateway(Limits(concurrency=4)) as running,
        running.web(ADA) as web,
        McpRouter(running.url, token=ADA) as router,
    ):
        handles = [await router.open() for _ in range(4)]
        slow = [asyncio.create_task(router.call(handle, "add_slowly", {"text": "x"})) for handle in handles]
        await asyncio.sleep(0.15)
        refused = await web.post("/sessions")
        assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
        assert "in progress" in refused.json()["error"]
        assert (await web.get("/health")).status_code == 200
        assert (await router.open()) not in handles
        assert all(answer.ok for answer in await asyncio.gather(*slow))


async def test_seats_are_counted_for_each_principal() -> None:
    async with gateway(capacity=3, capacity_each=2) as running, running.web(ADA) as ada, running.web(BOB) as bob:
        first, second = [(await ada.post("/sessions")).json()["handle"] for _ in range(2)]
        full = await ada.post("/sessions")
        assert full.status_code == 503 and "retry-after" not in full.headers and "one principal" in full.json()["error"]
        assert (await bob.post("/sessions")).status_code == 201
        assert "all 3 sessions" in (await bob.post("/sessions")).json()["error"]
        assert (await ada.get(f"/sessions/{first}")).status_code == 200
        await ada.delete(f"/sessions/{second}")
        assert (await ada.post("/sessions")).status_code == 201


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"seed": true}', b'{"seed": 1.5}', b'{"seed": 1e999}', b"[" * 90_000])
async def test_a_bad_opening_is_told_what_a_good_one_is(body: bytes) -> None:
    async with gateway(tokens={}) as running, running.web() as web:
        assert (await web.post("/sessions", content=body)).status_code == 400
        assert (await web.post("/sessions", content=b'{"seed": 9223372036854775808}')).status_code == 400


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_principal_has_a_default_session_that_lasts(mode: str) -> None:
    clock = [0.0]
    async with gateway(default_session=True, lifetime=60.0, timer=lambda: clock[0]) as running:
        counts = []
        for token, text in ((ADA, "a"), (ADA, "b"), (BOB, "c")):
            async with running.client(token, mode) as client:
                assert not (await client.call_tool("add_note", {"text": text})).is_error
                counts.append((await client.call_tool("count_notes", {})).structured_content["notes"])
            async with McpRouter(running.url, token=token) as router:
                handle = await router.open()
            clock[0] += 3_600.0
        assert counts == [2, 3, 2]
        assert len(running.pool) == 2, "only the default sessions are left"
        async with running.client(BOB, mode) as client:
            with pytest.raises(MCPError, match="60 s"):
                await client.call_tool("count_notes", {}, meta={SESSION_KEY: handle})
