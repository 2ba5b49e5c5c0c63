"""An episode is the same the second time in one process as in a process of its own."""

from __future__ import annotations

import pytest

from servers.kernel.catalog import server_names
from tests.servers.load.repeat import digests, in_processes


@pytest.mark.timeout(240)
def test_twice_in_one_process_equals_once_in_each_of_two() -> None:
    names = server_names()[::5]
    first, second = digests(names, 2, 2)
    assert [second, *in_processes(names, 2)] == [first] * 3
