"""Neither end of a connection holds small packets back.

Head and body of an answer are two packets. Where the second waits until the first is acknowledged, each call takes
40 ms more. Between the front and its workers there are Unix sockets, which hold nothing back.
"""

from __future__ import annotations

import socket

import pytest

from servers.gateway.serve import listen
from servers.kernel.router import McpRouter
from tests.servers.gateway.running import gateway


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_accepted_connection_sends_at_once(host: str) -> None:
    with (
        listen(host, 0) as listener,
        socket.create_connection(listener.getsockname()[:2], timeout=10),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_a_router_s_connection_sends_at_once() -> None:
    async with gateway(tokens={}) as running, McpRouter(running.url, token="") as router:
        response = await router._http.get("/health")
        stream = response.extensions["network_stream"]
        assert stream.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
