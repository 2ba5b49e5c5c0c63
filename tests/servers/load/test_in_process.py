"""A pool under load: bursts, churn, sessions that nobody closes, a full house, and handles by the hundred thousand."""

from __future__ import annotations

import pytest

from servers.kernel.catalog import Catalog, load_catalog
from tests.servers.load import in_process
from tests.servers.load.finding import assert_all
from tests.servers.load.writes import Write, first_write


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(("banking",))


@pytest.fixture(scope="module")
def write(catalog: Catalog) -> Write:
    return first_write(catalog, "banking")


@pytest.mark.parametrize("count", [512, 2048])
def test_many_sessions_open_within_a_second(catalog: Catalog, count: int) -> None:
    assert_all(in_process.burst(catalog, count))


def test_ten_thousand_opened_and_closed_leave_nothing(catalog: Catalog, write: Write) -> None:
    assert_all(in_process.churn(catalog, write, 10_000))


def test_sessions_left_open_are_gone_with_their_lifetime(catalog: Catalog, write: Write) -> None:
    assert_all(in_process.left_open(catalog, write, 1000))


def test_a_full_pool_refuses_one_more_and_keeps_every_state(catalog: Catalog, write: Write) -> None:
    assert_all(in_process.full(catalog, write, 512))


def test_a_hundred_thousand_handles_differ_and_foreign_ones_look_unknown(catalog: Catalog) -> None:
    assert_all(in_process.handles(catalog, 100_000))
