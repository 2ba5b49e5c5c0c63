"""Sessions: isolation, time, identifiers, replay, forks, journals, capacity."""

from __future__ import annotations

import datetime as host_time
import json
import subprocess
import sys
from pathlib import Path

import pytest

from servers.kernel.catalog import load_catalog
from servers.kernel.errors import CapacityError, ExpiredHandleError, HarnessError, UnknownHandleError
from servers.kernel.pool import SessionPool
from servers.kernel.session import EPOCH, IdStream, Session
from tests.servers.play import Play

PAYEES = [
    {"name": "Kite School", "iban_number": "DE871234567812345678"},
    {"name": "Harbour Bakery", "iban_number": "GB061111222233334444"},
]


def pool(**options: object) -> SessionPool:
    return SessionPool(load_catalog(("banking",)), **options)  # type: ignore[arg-type]


def add(target: SessionPool, handle: str, number: int = 0) -> str:
    outcome = target.call(handle, "add_payee", PAYEES[number])
    assert outcome.ok, outcome.text
    return str(json.loads(outcome.text)["id"])


def test_ids_are_unique_over_ten_thousand_and_beyond_the_first_block() -> None:
    names = [IdStream.name("PAY", 0, n) for n in range(100_500)]
    assert len(set(names)) == len(names)
    assert len(names[0]) < len(names[-1])


def test_ten_thousand_creations_of_one_type_in_a_session_do_not_collide() -> None:
    play = Play("banking")
    seeded = [payee["id"] for payee in play.ok("list_payees", limit=50)["items"]]
    prefix = seeded[0].partition("-")[0]
    made = [play.session.new_id(prefix) for _ in range(10_000)]
    assert len({*made, *seeded}) == len(made) + len(seeded)
    other = [play.session.new_id(kind) for kind in ("CARD", "TXN")]
    assert other == [Play("banking").session.new_id(kind) for kind in ("CARD", "TXN")], "each type has its own stream"


def test_order_of_creation_decides_ids_but_not_contents() -> None:
    first, second = Play("banking"), Play("banking")
    made = [first.ok("add_payee", **PAYEES[n]) for n in (0, 1)]
    other = [second.ok("add_payee", **PAYEES[n]) for n in (1, 0)]
    assert [row["id"] for row in made] == [row["id"] for row in other]
    assert {row["iban"] for row in made} == {row["iban"] for row in other}


def test_time_moves_with_writes_and_turns_and_never_with_reads() -> None:
    play = Play("banking")
    play.ok("list_accounts")
    play.fails("not_found", "get_account", account_id="nope")
    assert play.session.now == EPOCH
    play.ok("add_payee", **PAYEES[0])
    after_write = play.session.now
    assert after_write > EPOCH
    play.session.user_turn()
    assert play.session.now > after_write


CLOCK_PROGRAM = """
import hashlib, sys, time
time.time = lambda: float(sys.argv[1])
from servers.kernel.catalog import load_catalog
from servers.kernel.dice import Dice
from servers.kernel.session import Session
from stages.sampling import LiveState
digest = hashlib.sha256()
catalog = load_catalog()
for server in catalog.servers.values():
    session = Session(catalog.world(0))
    live = LiveState(catalog, server, session)
    for tool in server.tools.values():
        binding = live.working_binding(tool, Dice(5, tool.name))
        if binding is not None:
            digest.update(server.call(session, tool.name, binding.arguments).text.encode())
    digest.update(session.state_hash.encode())
print(digest.hexdigest())
"""


@pytest.mark.timeout(240)
def test_the_host_clock_zone_locale_and_hash_seed_do_not_matter() -> None:
    """One call of every tool, with the host clock moved by an hour over a change to summer time, and by 40 days."""
    outputs, winter = set(), host_time.datetime(2026, 3, 29, 0, 30, tzinfo=host_time.UTC)
    for zone, hours, seed in (("Europe/Berlin", 0, "0"), ("Europe/Berlin", 1, "1"), ("Asia/Kolkata", 960, "77")):
        environment = {"TZ": zone, "PYTHONPATH": ".", "PYTHONHASHSEED": seed, "LC_ALL": "C.UTF-8" if hours else "C"}
        moment = winter + host_time.timedelta(hours=hours)
        command = [sys.executable, "-c", CLOCK_PROGRAM, str(moment.timestamp())]
        outputs.add(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(outputs) == 1


def test_no_server_names_a_clock_or_a_random_source() -> None:
    clocks = ("datetime.now", "utcnow", ".today(", "time.time", "localtime(", "gmtime(", "from time import")
    forbidden = (*clocks, "uuid", "import random", "from random", "urandom", "SystemRandom")
    for path in Path("servers").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not [word for word in forbidden if word in text], path
    assert host_time.datetime.now(host_time.UTC) > EPOCH


def test_a_failed_call_leaves_no_trace() -> None:
    play = Play("banking")
    play.ok("add_payee", **PAYEES[0])
    log, state = list(play.session.log), play.session.state_hash
    play.fails("payee_exists", "add_payee", **PAYEES[0])
    assert (play.session.log, play.session.state_hash) == (log, state)
    twin = Play("banking")
    twin.ok("add_payee", **PAYEES[0])
    assert play.ok("add_payee", **PAYEES[1]) == twin.ok("add_payee", **PAYEES[1]), "the failure used up no id"


def test_episodes_do_not_touch_each_other_and_repeat_exactly() -> None:
    sessions = pool()
    one, two = sessions.open(), sessions.open()
    clean = sessions.session(two).state_hash
    first = add(sessions, one)
    assert sessions.session(two).state_hash == clean
    assert add(sessions, two) == first
    assert sessions.session(one).state_hash == sessions.session(two).state_hash


def test_the_hash_depends_on_contents_and_not_on_the_path() -> None:
    play = Play("banking")
    start = play.session.state_hash
    made = play.ok("add_payee", **PAYEES[0])
    assert play.session.state_hash != start
    play.ok("remove_payee", payee_id=made["id"])
    assert play.session.state_hash == start
    assert play.session.diff() == []


def test_fork_and_snapshot_are_independent() -> None:
    play = Play("banking")
    play.ok("add_payee", **PAYEES[0])
    moment, state = play.session.snapshot(), play.session.state_hash
    branch = play.session.fork()
    play.ok("add_payee", **PAYEES[1])
    assert branch.state_hash == state != play.session.state_hash
    play.session.restore(moment)
    assert play.session.state_hash == state
    assert play.catalog.replay(play.session).state_hash == state


def test_handles_are_minted_and_only_minted_ones_are_known() -> None:
    sessions = pool()
    handles = {sessions.open() for _ in range(200)}
    assert len(handles) == 200
    for name in (
        "a-b",
        "a_b",
        "a.b",
        "a/b",
        "A-B",
        "",
        "x" * 10_000,
        "../x",
        "é",
        "e\u0301",
        next(iter(handles)).upper() + " ",
    ):
        with pytest.raises(UnknownHandleError):
            sessions.session(name)


def test_a_full_pool_refuses_and_keeps_what_it_has() -> None:
    sessions = pool(capacity=2)
    one, _ = sessions.open(), sessions.open()
    add(sessions, one)
    state = sessions.session(one).state_hash
    with pytest.raises(CapacityError, match="all 2 sessions"):
        sessions.open()
    assert sessions.session(one).state_hash == state
    sessions.close(one)
    with pytest.raises(UnknownHandleError):
        sessions.call(one, "list_accounts", {})
    assert sessions.open() != one


def test_idle_sessions_expire_and_say_so() -> None:
    clock = [0.0]
    sessions = pool(lifetime=10.0, timer=lambda: clock[0])
    idle, busy = sessions.open(), sessions.open()
    clock[0] = 6.0
    sessions.call(busy, "list_accounts", {})
    clock[0] = 11.0
    assert len(sessions) == 1
    sessions.session(busy)
    with pytest.raises(ExpiredHandleError, match="10 s"):
        sessions.session(idle)


def test_journalled_sessions_survive_a_restart(tmp_path: Path) -> None:
    sessions = pool(directory=tmp_path)
    handle, closed = sessions.open(seed=1), sessions.open()
    add(sessions, handle)
    sessions.user_turn(handle)
    branch = sessions.fork(handle)
    add(sessions, branch, 1)
    sessions.close(closed)
    expected = {h: (sessions.session(h).state_hash, sessions.session(h).now) for h in (handle, branch)}
    with (tmp_path / f"{handle}.jsonl").open("ab") as torn:
        torn.write(b'{"tool": "add_pa')
    again = pool(directory=tmp_path)
    assert len(again) == 2
    assert {h: (again.session(h).state_hash, again.session(h).now) for h in expected} == expected
    add(again, handle, 1)
    third = pool(directory=tmp_path)
    assert third.session(handle).state_hash == again.session(handle).state_hash


def test_a_restored_snapshot_is_journalled_whole(tmp_path: Path) -> None:
    sessions = pool(directory=tmp_path)
    handle = sessions.open()
    add(sessions, handle)
    moment, state = sessions.snapshot(handle), sessions.session(handle).state_hash
    add(sessions, handle, 1)
    sessions.restore(handle, moment)
    assert pool(directory=tmp_path).session(handle).state_hash == state
    add(sessions, handle, 1)
    assert pool(directory=tmp_path).session(handle).state_hash == sessions.session(handle).state_hash


def test_a_damaged_journal_is_named(tmp_path: Path) -> None:
    path = tmp_path / f"{'1' * 32}.jsonl"
    path.write_text("{broken\n")
    with pytest.raises(HarnessError, match=str(path)):
        pool(directory=tmp_path)


def test_the_log_keeps_arguments_as_they_were() -> None:
    play = Play("banking")
    arguments = dict(PAYEES[0])
    assert play.catalog.call(play.session, "add_payee", arguments).ok
    arguments["name"] = "somebody else"
    assert play.catalog.replay(play.session).state_hash == play.session.state_hash


def test_worlds_are_not_kept_for_ever() -> None:
    catalog = load_catalog(("banking",))
    first = catalog.world(1000)
    for seed in range(1001, 1040):
        catalog.world(seed)
    assert len(catalog._worlds) <= 16
    assert catalog.world(1000) is not first and catalog.world(1000).rows.digest == first.rows.digest


def test_a_journal_of_other_servers_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"{'0' * 32}.jsonl").write_text('{"fingerprint": "other", "seed": 0}\n')
    with pytest.raises(HarnessError, match="other"):
        pool(directory=tmp_path)


def test_effects_are_observed() -> None:
    play = Play("banking")
    read = play.catalog.call(play.session, "list_payees", {"query": "sunline"}).effects
    assert not read.writes and any(table == "banking.Payee" for table, _ in read.reads)
    outcome = play.catalog.call(play.session, "add_payee", PAYEES[0])
    assert {table for table, _ in outcome.effects.writes} == {"banking.Payee"}
    assert isinstance(Session(play.catalog.world(0)), Session)
