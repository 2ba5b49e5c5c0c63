"""A `flows.ui` for the tests of a module that need a Prefect server; runs that one kills keep slots of its server."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from flows.ui import free_port
from tests.flows.interfaces import Interfaces
from tests.flows.tiny import ROOT, make_repository


@pytest.fixture(scope="module")
def interfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interfaces]:
    root = make_repository(tmp_path_factory.mktemp("interfaces") / "root")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    for name in ("PREFECT_API_URL", "PREFECT_HOME", "MLFLOW_TRACKING_URI"):
        environment.pop(name, None)
    ports = [free_port(0), free_port(0)]
    found = Interfaces(root, *(f"http://127.0.0.1:{port}" for port in ports), environment)
    asked = ["--prefect-port", str(ports[0]), "--mlflow-port", str(ports[1])]
    with found.program("flows.ui", *asked, until=found.mlflow) as log:
        assert found.prefect in log.read_text()
        yield found
    assert not (root / ".cache" / "prefect" / "server-address").exists()
    for port in ports:
        assert free_port(port) == port, "a server is left"
