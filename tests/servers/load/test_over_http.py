"""A server process under load, at a size for every day; `python -m tests.bench.load` has the whole numbers."""

from __future__ import annotations

import pytest

from servers.kernel.catalog import load_catalog
from tests.servers.load import over_http
from tests.servers.load.finding import assert_all
from tests.servers.load.processes import serving
from tests.servers.load.writes import first_write

LIFETIME = 2.0


@pytest.mark.timeout(180)
async def test_a_burst_and_churn_lose_nothing_and_leave_nothing() -> None:
    with serving("--server", "banking") as server:
        assert_all(await over_http.burst(server, 128))
        assert_all(await over_http.churn(server, 96))


@pytest.mark.timeout(180)
async def test_a_burst_over_the_capacity_is_refused_in_words() -> None:
    write = first_write(load_catalog(("banking",)), "banking")
    assert_all(await over_http.overfull(write, 12, 12))


@pytest.mark.timeout(180)
async def test_what_fails_names_server_tool_session_and_attempt() -> None:
    assert_all(await over_http.named_failures(first_write(load_catalog(("banking",)), "banking")))


@pytest.mark.timeout(180)
async def test_killed_and_forgetful_clients_leave_nothing_after_the_lifetime() -> None:
    with serving("--server", "banking", "--lifetime", str(LIFETIME)) as server:
        assert_all(over_http.killed_clients(server, 12, 6, LIFETIME))
        assert_all(await over_http.left_open(server, 20, LIFETIME))
