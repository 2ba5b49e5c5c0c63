"""Every server has dependencies that running its tools proves: of data and of state."""

from __future__ import annotations

import pytest

from servers.kernel.catalog import load_catalog, server_names
from stages.discover.execution import Executor


@pytest.mark.parametrize("name", server_names())
def test_each_server_has_explicit_and_implicit_executed_edges(name: str) -> None:
    catalog = load_catalog((name,))
    executed = [edge for edge in Executor(catalog, catalog.servers[name], 7, 8).edges() if edge.executed]
    labels = {edge.label for edge in executed}
    assert labels == {"explicit", "implicit"}, f"{name}: only {labels}"
    assert all(edge.error_code for edge in executed)
