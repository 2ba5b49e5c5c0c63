"""The published catalogue, and the check of a server over its real transport."""

from __future__ import annotations

import copy
import json
import sys
import time
from pathlib import Path

import pytest

from servers.kernel.catalog import load_catalog, server_fingerprint
from servers.kernel.server import ToolServer
from stages import artifacts
from stages.artifacts import Stamp, read_table, write_table
from stages.bootstrap import __main__ as stage
from stages.bootstrap import health
from stages.bootstrap.catalogue import SERVERS, TOOLS, server_rows, tool_rows
from stages.bootstrap.health import check_server
from stages.params import BootstrapParams
from stages.stage import StageContext

CATALOG = load_catalog(("banking",))
BANK = CATALOG.servers["banking"]


def fewer_tools() -> ToolServer:
    """The bank without its last tool."""
    server = ToolServer("banking", BANK.title, records=BANK.records, seed=BANK._seed, faults=BANK.faults)
    server.tools = dict(list(BANK.tools.items())[:-1])
    return server


def test_each_server_and_each_tool_has_its_row() -> None:
    (row,) = server_rows(CATALOG, 7, {"banking": "it is closed"})
    assert (row["server"], row["tools"], row["healthy"], row["detail"]) == ("banking", 17, False, "it is closed")
    assert row["fingerprint"] == server_fingerprint(BANK)
    assert {"account", "card", "payee"} <= set(row["entities"]) and "wrong_pin" in row["error_codes"]
    assert row["rows"] == sum(len(table) for table in CATALOG.world(7).rows.tables.values())
    rows = {row["name"]: row for row in tool_rows(CATALOG)}
    assert rows.keys() == BANK.tools.keys()
    assert json.loads(rows["list_payees"]["input_schema"]) == BANK.tools["list_payees"].input_schema
    assert rows["list_payees"]["read_only"] and rows["remove_payee"]["destructive"]


def test_a_changed_description_is_another_server() -> None:
    known = server_fingerprint(BANK)
    for change in ({"description": "Move money."}, {"read_only": True}, {"input_schema": {"type": "object"}}):
        server = fewer_tools()
        server.tools = dict(BANK.tools)
        tool = copy.copy(server.tools["transfer_between_accounts"])
        for name, value in change.items():
            setattr(tool, name, value)
        assert server_fingerprint(server) == known
        server.tools[tool.name] = tool
        assert server_fingerprint(server) != known, change


def test_another_seed_is_another_world_of_the_same_shape() -> None:
    one, other = (server_rows(CATALOG, seed, {})[0] for seed in (1, 2))
    assert one["seed_hash"] != other["seed_hash"] and one["fingerprint"] == other["fingerprint"]


def test_the_difference_from_the_published_catalogue_is_told(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(str(tmp_path))
    ctx = StageContext("bootstrap", BootstrapParams(), 7, {"bootstrap": {"servers": ["banking"]}})
    stamp = Stamp("elsewhere", "p")
    rows, tools = server_rows(CATALOG, 7, {}), tool_rows(CATALOG)
    root = artifacts.DATA / "catalog"
    write_table(root / "servers.parquet", SERVERS, rows, stamp)
    write_table(root / "tools.parquet", TOOLS, tools, stamp)
    assert stage.diff(ctx) == [] and capsys.readouterr().out == ""
    tools[0]["description"] = "Another."
    tools[1]["name"] = "old_tool"
    write_table(root / "servers.parquet", SERVERS, [{**rows[0], "fingerprint": "0" * 16}], stamp)
    write_table(root / "tools.parquet", TOOLS, tools, stamp)
    stage.diff(ctx)
    told = capsys.readouterr().out
    assert "server banking: published 0000000000000000" in told
    assert "tool list_accounts: description changed" in told
    assert "tool old_tool: removed" in told and "tool get_account: added" in told
    assert len(read_table(root / "tools.parquet", TOOLS, None)) == 17


HALF = """printf '{"jsonrpc": "2.0", "id": 1, "res'"""
SERVING = f"{sys.executable} -m servers serve --server banking"
BROKEN = {
    "it ends": ("exit 3", "Connection closed"),
    "it ends in half a message": (f"read line; {HALF}", "Connection closed"),
    "it stalls in half a message": (f"read line; {HALF}; exec sleep 3600", "did not answer"),
    "it ends in half an answer": (f"exec dd bs=1 count=9000 status=none < <({SERVING})", "Connection closed"),
    "it says nothing": ("exec sleep 3600", "did not answer"),
    "it says something else": ("read line; echo '<html>'; exit", "Connection closed"),
    "it says no text": ("read line; printf '\\377\\n'; exit", "can't decode byte"),
    "there is no such program": (None, "No such file"),
}


@pytest.mark.parametrize("way", BROKEN)
async def test_a_server_that_breaks_is_told_with_its_name_and_what_happened(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, told = BROKEN[way]
    path = tmp_path / "server"
    if program is not None:
        path.write_text(f"#!/bin/bash\n{program}\n")
        path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))
    monkeypatch.setattr(health, "START_SECONDS", 3.0 if told == "did not answer" else 60.0)
    begin = time.monotonic()
    problem = await check_server(CATALOG, BANK, 7, "stdio")
    assert problem.startswith("banking over stdio: ") and told in problem
    assert time.monotonic() - begin < 30


@pytest.mark.slow
async def test_a_server_is_compared_with_the_catalogue_over_stdio() -> None:
    assert await check_server(CATALOG, BANK, 7, "stdio") == ""
    assert "lists other tools: ['dispute_transaction']" in await check_server(CATALOG, fewer_tools(), 7, "stdio")
