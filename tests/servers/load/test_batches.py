"""Batches of episodes on server processes: a killed server and a wrecked one harm their own episodes and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.load.finding import assert_all
from tests.servers.load.processes import ServerProcess
from tests.servers.load.server_loss import lost_server
from tests.servers.load.wrecked import WRECKS
from tests.servers.load.wrecks import comes_to_grief, ship_and_haven


@pytest.mark.timeout(240)
def test_a_server_killed_in_mid_batch_masks_its_own_episodes_only(tmp_path: Path) -> None:
    assert_all(lost_server(8, ("budget",), tmp_path))


@pytest.fixture(scope="module")
def processes() -> Iterator[tuple[ServerProcess, ServerProcess]]:
    with ship_and_haven() as both:
        yield both


@pytest.mark.timeout(180)
@pytest.mark.parametrize("fault", WRECKS)
def test_a_call_that_never_ends_well_is_typed_in_time_and_the_batch_completes(
    fault: str, processes: tuple[ServerProcess, ServerProcess]
) -> None:
    assert_all(comes_to_grief(fault, *processes, rows_each=2))
