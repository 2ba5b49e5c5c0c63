"""What must not matter to the pipeline: the host it runs on, how episodes are grouped, and the number of a world."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest

from servers.kernel.catalog import describe, load_catalog
from servers.kernel.dice import Dice
from stages.artifacts import Stamp, write_table
from stages.bootstrap.catalogue import SERVERS as SERVER_ROWS
from stages.bootstrap.catalogue import TOOLS, server_rows, tool_rows
from stages.dataset import RlRow
from stages.discover.edges import CHAINS, EDGES
from stages.discover.execution import Executor
from stages.episodes import ScoredEpisode, score_episode
from stages.records import Message, ToolCall
from stages.reward.rules import RewardRules
from stages.rollout import episode_for
from stages.validate.rows import rl_rows
from tests.stages.synthesize.writing import SEED, catalog, chains, conversations

ROOT = Path(__file__).parents[2]
PARAMS = """\
seed: 7
bootstrap: {servers: [banking, budget]}
synthesize: {conversations: 30}
"""
OUTPUTS = ("data/conversations", "data/dataset", "reports/metrics")
HERE = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
ELSEWHERE = {
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "tr_TR.UTF-8",
    "LANG": "C",
    "PYTHONHASHSEED": "4242",
    "PYTHONUTF8": "0",
    "COLUMNS": "40",
}


def inputs(place: Path) -> None:
    """The catalogue, the graph and the parameters in a directory."""
    stamp = Stamp(catalog().fingerprint, "p")
    edge = {**dict.fromkeys(EDGES.names, ""), "server": "banking", "first": "list_cards", "second": "freeze_card"}
    edge |= {"label": "explicit", "parameter": "card_id", "verdict": "explicit", "teacher": ""}
    edge |= dict.fromkeys(("schema", "trace", "executed"), True)
    for path, schema, rows in (
        ("catalog/servers.parquet", SERVER_ROWS, server_rows(catalog(), SEED, {})),
        ("catalog/tools.parquet", TOOLS, tool_rows(catalog())),
        ("graph/edges.parquet", EDGES, [edge]),
        ("graph/chains.parquet", CHAINS, [asdict(chain) for chain in chains()]),
    ):
        write_table(place / "data" / path, schema, rows, stamp)
    (place / "params.yaml").write_text(PARAMS, encoding="utf-8")


def digests(place: Path) -> dict[str, str]:
    """Every file that the stages wrote."""
    files = [path for top in OUTPUTS for path in sorted((place / top).rglob("*")) if path.is_file()]
    return {path.relative_to(place).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_host_leaves_no_trace_in_what_is_written(tmp_path: Path) -> None:
    """Another time zone, locale, hash seed, encoding and terminal: the same bytes."""
    found: list[Mapping[str, str]] = []
    for number, variables in enumerate((HERE, ELSEWHERE)):
        place = tmp_path / f"host-{number}"
        inputs(place)
        done = subprocess.run(
            [sys.executable, "-m", "tests.stages.small_run"],
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PROVE_TRACKING": "off", **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found.append(digests(place))
    assert found[0] == found[1]
    assert {"data/conversations/conversations.parquet", "data/dataset/train.parquet"} <= found[0].keys()


@cache
def rows() -> tuple[RlRow, ...]:
    return tuple(row for made in conversations() for row in rl_rows(catalog(), made))[:40]


def played(row: RlRow) -> ScoredEpisode:
    """The row as an agent plays it that drops some calls of the truth and repeats others, by the row's id alone."""
    dice = Dice(3, row.id)
    episode = episode_for(catalog(), row)
    for number, call in enumerate(row.truth):
        for copy in range(dice.integer(0, 2)):
            episode.respond(Message("assistant", "", (ToolCall(f"c{number}-{copy}", call.name, call.arguments),)))
            if episode.done:
                break
    if not episode.done:
        episode.respond(Message("assistant", "Done."))
    return score_episode("agent", row, 0, episode.finish(), RewardRules())


@pytest.mark.timeout(300)
def test_episodes_are_the_same_however_they_are_grouped() -> None:
    """Alone, in another order, and with all sessions open side by side: the same messages, states and rewards."""
    in_order = {row.id: played(row) for row in rows()}
    assert len({episode.reward.total for episode in in_order.values()}) > 5
    for row in reversed(rows()):
        assert played(row) == in_order[row.id]
    assert _interleaved() == {key: episode.record for key, episode in in_order.items()}


def _interleaved() -> dict[str, object]:
    """The records of all rows, played in lock-step, one call of each at a time."""
    dice = {row.id: Dice(3, row.id) for row in rows()}
    live = {row.id: episode_for(catalog(), row) for row in rows()}
    for number in range(max(len(row.truth) for row in rows())):
        for row in rows():
            if number >= len(row.truth):
                continue
            call, episode = row.truth[number], live[row.id]
            for copy in range(dice[row.id].integer(0, 2)):
                if not episode.done:
                    said = ToolCall(f"c{number}-{copy}", call.name, call.arguments)
                    episode.respond(Message("assistant", "", (said,)))
    for episode in live.values():
        if not episode.done:
            episode.respond(Message("assistant", "Done."))
    return {key: episode.finish() for key, episode in live.items()}


@pytest.mark.parametrize("name", ["banking", "budget", "vehicle"])
def test_another_world_of_the_same_servers_has_the_same_tools_and_explicit_edges(name: str) -> None:
    """Schemas say nothing of a world, and what a tool needs of another is no matter of which rows there are."""
    servers = load_catalog((name,))
    before = [describe(entry.tool) for entry in servers.entries.values()]
    found = [
        {
            (edge.first, edge.second, edge.parameter)
            for edge in Executor(servers, servers.servers[name], seed, 4).edges()
            if edge.label == "explicit" and edge.executed
        }
        for seed in (0, 1)
    ]
    assert found[0] == found[1] and len(found[0]) >= 5
    assert [describe(entry.tool) for entry in servers.entries.values()] == before
