"""A server that is killed in the middle of a batch: what becomes of its episodes, and of everybody else's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from servers.kernel.catalog import Catalog, load_catalog
from stages.artifacts import Stamp
from stages.evaluate.row_figures import summarise
from stages.evaluate.scores import write_scores
from tests.servers.load.batch import SCORER, Batch, play, rows_of, taking_turns
from tests.servers.load.finding import Finding, equal
from tests.servers.load.processes import serving
from tests.servers.load.remote import RemoteRows, connected

LOST = "banking"


def lost_server(rows_each: int, siblings: tuple[str, ...], place: Path) -> list[Finding]:
    """Play a batch undisturbed, with a server killed and back at once, and with one that stays away for a round.

    Rows take four rounds each. So the kill falls when some have finished and as many are half-way, and those that take
    the seats of the lost ones find nobody there either.
    """
    catalog = load_catalog((LOST, *siblings))
    rows = taking_turns([rows_of(load_catalog((name,)), name, rows_each) for name in catalog.servers])
    width = 2 * len(catalog.servers)
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(serving("--server", name, "--journal", str(place / name)))
            for name in catalog.servers
        }
        bridge, routers = stack.enter_context(connected({n: p.url for n, p in processes.items()}))
        benchmark = RemoteRows(catalog, rows, SCORER, bridge, routers)
        lost = processes[LOST]
        calm = play(benchmark, {}, width)
        blink = play(benchmark, {7: lost.restart}, width)
        away = play(benchmark, {7: lost.kill, 8: lost.start}, width)
        left = {name: processes[name].sessions() for name in siblings}
    return [
        *_complete("undisturbed", calm, len(rows), 0),
        equal("sessions left open on the other servers", left, dict.fromkeys(siblings, 0)),
        *_complete("killed, back at once from its journal", blink, len(rows), 0),
        equal("killed, back at once: records unlike the undisturbed run's", _unlike(calm, blink), []),
        *_away(catalog, calm, away, len(rows), place / "scores"),
    ]


def _complete(name: str, batch: Batch, rows: int, masked: int) -> list[Finding]:
    solved = sum(episode.reward.outcome is True for episode in batch.episodes)
    return [
        equal(f"{name}: results", len(batch.results), rows),
        equal(f"{name}: masked", len(batch.masked), masked),
        equal(f"{name}: solved", solved, rows - masked),
    ]


def _away(catalog: Catalog, calm: Batch, away: Batch, rows: int, place: Path) -> list[Finding]:
    masked = sorted(away.masked)
    own = [episode.row for episode in away.episodes if episode.server == LOST]
    figures = summarise(away.episodes, 0, 100)
    write_scores(place, {"chains": {"oracle": away.episodes}}, {}, Stamp(catalog.fingerprint, "load"))
    failures = [json.loads(line)["task"] for line in (place / "failures.jsonl").read_text().splitlines()]
    statuses = {result.status for result in away.results if result.task_id in away.masked}
    return [
        *_complete("killed, away for a round", away, rows, len(masked)),
        Finding("away: its episodes that are masked", f"{len(masked)} of {len(own)}", "some, not all",
                0 < len(masked) < len(own)),
        equal("away: masked episodes of other servers", [row for row in masked if row not in own], []),
        equal("away: records unlike the undisturbed run's", _unlike(calm, away), masked),
        equal("away: its first and last episodes masked", {own[0], own[-1]} & away.masked, set()),
        equal("away: status of the masked", statuses, {"infrastructure"}),
        equal("away: masked in the figures", figures["masked"], len(masked)),
        equal("away: mean reward of the others", _rounded(figures), _rounded(summarise(calm.episodes, 0, 100))),
        equal("away: failures file", sorted(failures), masked),
    ]  # fmt: skip


def _rounded(figures: Mapping[str, Any]) -> dict[str, float]:
    """The mean reward and its interval; fewer terms make another last digit."""
    return {name: round(value, 9) for name, value in figures["reward"].items()}


def _unlike(calm: Batch, other: Batch) -> list[str]:
    pairs = zip(calm.episodes, other.episodes, strict=True)
    return sorted(a.row for a, b in pairs if (a.record, a.reward) != (b.record, b.reward))
