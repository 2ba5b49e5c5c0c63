"""The coverage table is what the catalogue says, and the command line does what `servers/README.md` says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from servers.__main__ import main
from servers.kernel.catalog import load_catalog
from servers.kernel.coverage import (
    BEGIN,
    END,
    coverage_table,
    feeding_graph,
    longest_chain,
    server_coverage,
    with_table,
)
from servers.kernel.errors import HarnessError

README = Path(__file__).parents[2] / "servers" / "README.md"

TOOLS = {
    "banking": 17,
    "budget": 12,
    "calendar": 17,
    "crm": 16,
    "email": 17,
    "filesystem": 40,
    "food_delivery": 17,
    "iot_devices": 25,
    "issue_tracker": 20,
    "maps": 16,
    "marketplace": 13,
    "payments": 10,
    "retail_chain": 11,
    "shopping": 23,
    "social_media": 15,
    "team_chat": 11,
    "trading": 13,
    "travel_booking": 20,
    "vehicle": 20,
    "video_meeting": 10,
}
"""The paper's servers and their numbers of tools (arXiv 2606.03892, section on environments)."""


def test_the_servers_are_the_papers() -> None:
    catalog = load_catalog()
    assert {name: len(server.tools) for name, server in catalog.servers.items()} == TOOLS
    assert len(catalog.servers) == 20
    assert len(catalog.entries) == 343


def test_the_readme_holds_the_generated_table() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_table(text, coverage_table(load_catalog())) == text, (
        "out of date: run python -m servers coverage --write servers/README.md"
    )


def test_a_row_counts_one_server() -> None:
    row = server_coverage(load_catalog().servers["banking"])
    assert row.tools == 17
    assert row.entities == {"account", "card", "payee", "scheduled_payment", "transaction"}
    assert row.error_codes == 19
    assert row.seed_rows == len(load_catalog().servers["banking"].build_seed(0).rows)


def test_a_tool_feeds_those_that_require_what_it_shows() -> None:
    graph = feeding_graph(load_catalog().servers["banking"])
    assert graph.has_edge("list_payees", "send_payment")
    assert graph.has_edge("list_transactions", "dispute_transaction")
    assert not graph.has_edge("send_payment", "list_payees"), "nothing is required there"
    assert not graph.has_edge("get_account", "get_statement"), "get_account was given the account itself"


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ("", ("a",)),
        ("ab bc", ("a", "b", "c")),
        ("ab ba", ("a", "b")),
        ("ac bc cd", ("a", "c", "d")),
        ("ab bc cd de ef", ("a", "b", "c", "d", "e")),
    ],
    ids=["alone", "line", "cycle", "first-of-equals", "bounded"],
)
def test_longest_chain(edges: str, expected: tuple[str, ...]) -> None:
    graph = nx.DiGraph()
    graph.add_node("a")
    graph.add_edges_from(edges.split())
    assert longest_chain(graph) == expected


def test_each_chain_is_a_path_of_its_server() -> None:
    for server in load_catalog().servers.values():
        chain = server_coverage(server).chain
        graph = feeding_graph(server)
        assert 2 <= len(chain) <= 5
        assert nx.is_simple_path(graph, chain)


@pytest.mark.parametrize("text", ["", BEGIN, END, END + BEGIN, BEGIN + END + BEGIN, BEGIN + END + END])
def test_markers_must_enclose_one_place(text: str) -> None:
    with pytest.raises(HarnessError, match="once each"):
        with_table(text, "table")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["servers", *arguments])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_coverage_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(monkeypatch, "coverage") == 0
    table = capsys.readouterr().out.rstrip("\n")
    assert table == coverage_table(load_catalog())

    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    assert run(monkeypatch, "coverage", "--write", str(page)) == 0
    assert page.read_text(encoding="utf-8") == f"before\n{BEGIN}\n{table}\n{END}\nafter\n"

    page.write_text("no place for it", encoding="utf-8")
    assert run(monkeypatch, "coverage", "--write", str(page)) == 2
    assert run(monkeypatch, "coverage", "--write", str(tmp_path / "absent.md")) == 2
    assert page.read_text(encoding="utf-8") == "no place for it"


def test_list_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["tools"] == 343
    assert listed["fingerprint"] == load_catalog().fingerprint
    assert {row["server"]: row["tools"] for row in listed["servers"]} == TOOLS


def test_tools_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "tools", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [tool["name"] for tool in listed] == list(load_catalog().entries)
    assert all(tool["input_schema"]["type"] == "object" and tool["description"] for tool in listed)

    assert run(monkeypatch, "tools", "--server", "banking", "--json") == 0
    assert {tool["server"] for tool in json.loads(capsys.readouterr().out)} == {"banking"}


def test_list_and_tools_for_people(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "list") == 0
    assert "20 servers, 343 tools" in capsys.readouterr().out
    assert run(monkeypatch, "tools", "--server", "banking") == 0
    assert "list_accounts" in capsys.readouterr().out


PAYEE = json.dumps({"name": "Kite School", "iban_number": "DE871234567812345678"})


def test_call_shows_result_and_changes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "call", "add_payee", PAYEE, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["ok"] and shown["result"]["name"] == "Kite School"
    (change,) = shown["changes"]
    assert (change["table"], change["before"]) == ("banking.Payee", None)

    assert run(monkeypatch, "call", "list_accounts") == 0
    assert '"total"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["call", "list_accounts", '{"no_such": 1}', "--json"], 1, "invalid_arguments"),
        (["call", "get_account", '{"account_id": "ACC-0"}', "--json"], 1, "not_found"),
        (["call", "no_such_tool"], 2, "no tool 'no_such_tool'"),
        (["call", "list_accounts", "{"], 2, "not JSON"),
        (["call", "list_accounts", "[]"], 2, "must be a JSON object"),
        (["call"], 2, "Missing argument"),
        (["tools", "--server", "no_such_server"], 2, "unknown server 'no_such_server'"),
        (["no_such_command"], 2, "No such command"),
    ],
    ids=[
        "bad-argument",
        "not-found",
        "unknown-tool",
        "bad-json",
        "no-object",
        "no-tool",
        "unknown-server",
        "no-command",
    ],
)
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    told: str,
) -> None:
    assert run(monkeypatch, *arguments) == code
    said = capsys.readouterr()
    assert told in said.out + said.err


def test_exit_codes_of_the_real_program() -> None:
    command = [sys.executable, "-m", "servers", "call"]
    codes = [
        subprocess.run([*command, *arguments], capture_output=True, cwd=README.parents[1], timeout=60).returncode
        for arguments in (["list_accounts"], ["get_account", "{}"], ["no_such_tool"])
    ]
    assert codes == [0, 1, 2]
