"""The machinery of the published figures: what is fitted, kept and drawn. Nothing here asserts a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client
from pydantic import ValidationError

from servers.kernel.catalog import load_catalog
from servers.kernel.mcp import SESSION_KEY, build_mcp_server
from servers.kernel.pool import SessionPool
from servers.kernel.session import Session
from stages.artifacts import ArtifactError
from stages.conversations import Conversation, Turn
from stages.records import ExecutedCall
from tests.bench import __main__ as command
from tests.bench.speed import bank, dvc_noop, history, replay, reward
from tests.bench.speed.echo import build_echo
from tests.bench.speed.figures import Figure, Growth, at_least, at_most
from tests.bench.speed.history import Run, append, latest, read_history
from tests.bench.speed.machine import ROOT, Machine, machine
from tests.bench.speed.page import bench_page, reason
from tests.bench.speed.sessions import multiplied
from tests.bench.speed.timing import Load, exponent, growth, in_turn, middle, rate, times_faster

HOSTILE = "<script>alert(1)</script>"
HERE = Machine(cpus=2, cpu="Some CPU", platform="Linux x86_64", python="CPython 3.11.7", load=0.1)


def figure(name: str = "session open", **changes: Any) -> Figure:
    plain = {"name": name, "family": "sessions", "title": "open a session", "value": 2.0, "unit": "µs"}
    return Figure.model_validate({**plain, "spread": (1.5, 2.5), **changes})


def run(date: str, *figures: Figure) -> Run:
    return Run(date=date, revision="abc", machine=HERE, figures=figures)


def ticking(*durations: float) -> Callable[[], float]:
    """A clock on which each timed run takes the next of the durations."""
    moments: Iterator[float] = iter([moment for duration in durations for moment in (0.0, duration)])
    return lambda: next(moments)


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0])
def test_the_exponent_is_that_of_the_power_law(power: float) -> None:
    assert exponent([1, 10, 100], [3 * n**power for n in (1, 10, 100)]) == pytest.approx(power, abs=1e-9)


@pytest.mark.parametrize(
    ("sizes", "values", "said"),
    [([1], [1.0], "two different"), ([5, 5], [1.0, 2.0], "two different"), ([1, 10], [0.0, 1.0], "above 0"),
     ([1, 10], [1.0], "each size"), ([], [], "above 0")],
)  # fmt: skip
def test_an_exponent_is_not_fitted_to_nonsense(sizes: list[float], values: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        exponent(sizes, values)


def test_loads_take_turns_after_a_warm_up_and_what_comes_before_is_not_timed() -> None:
    order: list[str] = []
    loads = {name: Load(partial(order.append, name), 2, partial(order.append, "-")) for name in "ab"}
    seconds = in_turn(loads, 2, ticking(9, 9, 2, 4, 6, 8))
    assert "".join(order) == "-a-b" + "-a-b" + "-b-a"
    assert seconds == {"a": [1.0, 4.0], "b": [2.0, 3.0]}


def test_medians_quartiles_rates_and_paired_ratios() -> None:
    assert middle([4.0, 1.0, 2.0, 3.0, 100.0]) == (3.0, (2.0, 4.0))
    assert middle([7.0]) == (7.0, (7.0, 7.0))
    assert rate([0.5, 0.25, 0.25]) == (4.0, (3.0, 4.0))
    assert times_faster([1.0, 10.0, 1.0], [2.0, 20.0, 9.0]) == 2.0  # a slow minute slows both sides
    assert growth("rows", {1: [5.0], 10: [50.0, 40.0, 60.0]}).exponent == pytest.approx(1.0)
    with pytest.raises(ValueError, match="nothing was measured"):
        middle([])


def test_a_target_that_was_not_measured_is_missed() -> None:
    assert figure().met is None
    assert figure(targets=(at_most(2),)).met is True
    assert figure(targets=(at_most(1.9),)).met is False
    unmeasured = figure(targets=(at_least(10, "ratio"), at_most(1.1, "exponent")))
    assert unmeasured.met is False
    assert reason(unmeasured) == "ratio at least 10: seen nothing; exponent at most 1.1: seen nothing"
    steep = Growth(axis="rows", sizes=(1, 10), seconds=(1.0, 100.0), exponent=2.0)
    assert [str(t) for t in figure(ratio=12.0, growth=steep, targets=unmeasured.targets).missed()] == [
        "exponent at most 1.1"
    ]


@pytest.mark.parametrize("change", [{"value": float("nan")}, {"colour": "red"}, {"targets": ({"of": "mood"},)}])
def test_a_figure_takes_no_nonsense(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        figure(**change)


def test_history_only_grows_and_keeps_what_a_later_run_did_not_measure(tmp_path: Path) -> None:
    append(tmp_path, run("2026-01-01", figure("a", value=1), figure("b", value=2)))
    append(tmp_path, run("2026-01-02", figure("b", value=3, targets=(at_most(2),))))
    assert [item.date for item in read_history(tmp_path)] == ["2026-01-01", "2026-01-02"]
    assert [(f.name, f.value, r.date) for f, r in latest(read_history(tmp_path))] == [
        ("a", 1, "2026-01-01"),
        ("b", 3, "2026-01-02"),
    ]
    first, second = json.loads((tmp_path / history.LATEST).read_text())
    assert (first["name"], first["met"], first["date"], first["machine"]["cpus"]) == ("a", None, "2026-01-01", 2)
    assert (second["met"], second["target"], second["revision"]) == (False, "at most 2", "abc")


def test_a_run_that_dies_while_writing_leaves_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path, run("2026-01-01", figure()))
    before = (tmp_path / history.HISTORY).read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("replace", "rename"):
        monkeypatch.setattr(Path, name, killed)
    with pytest.raises(KeyboardInterrupt):
        append(tmp_path, run("2026-01-02", figure()))
    assert (tmp_path / history.HISTORY).read_bytes() == before


def test_a_damaged_history_is_refused_by_line_and_left_alone(tmp_path: Path) -> None:
    append(tmp_path, run("2026-01-01", figure()))
    path = tmp_path / history.HISTORY
    path.write_text(path.read_text() + '{"date": "2026-01-02"}\n')
    damaged = path.read_bytes()
    with pytest.raises(ArtifactError, match="line 2: revision: Field required"):
        append(tmp_path, run("2026-01-03", figure()))
    assert path.read_bytes() == damaged


def test_the_page_shows_what_was_seen_and_why_a_target_is_missed() -> None:
    grown = Growth(axis="rows", sizes=(1, 10), seconds=(1.0, 1.0), exponent=0.0)
    slow = figure("fork", title=HOSTILE, value=70.0, targets=(at_most(50),), growth=grown)
    runs = [run("2026-01-01", figure()), run("2026-01-02", figure(ratio=3.0, targets=(at_least(2, "ratio"),)), slow)]
    page = bench_page(runs)
    assert "1 of 2" in page
    assert "at most 50: seen 70" in page
    assert HOSTILE not in page and "&lt;script&gt;" in page
    assert "data:image/svg+xml;base64," in page
    assert "http://" not in page and "https://" not in page
    assert page == bench_page(runs)


def test_a_family_that_fails_is_told_and_the_others_are_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "measured", lambda *_: ([figure()], ["dvc"]))
    assert command.main([], tmp_path) == 1
    assert len(read_history(tmp_path)) == 1
    assert "open a session" in (tmp_path / "bench.html").read_text()


def test_a_quick_run_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "measured", lambda *_: ([figure()], []))
    assert command.main(["--quick", "--only", "sessions"], tmp_path) == 0
    assert list(tmp_path.iterdir()) == []
    assert "session open" in capsys.readouterr().out


def test_bad_input_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "measured", lambda *_: pytest.fail("measured"))
    with pytest.raises(SystemExit) as ended:
        command.main(["--only", "speed"], tmp_path)
    assert ended.value.code == 2
    assert "'sessions'" in capsys.readouterr().err or "sessions" in capsys.readouterr().err
    (tmp_path / history.HISTORY).write_text("{}\n")
    assert command.main([], tmp_path) == 1
    assert "line 1" in capsys.readouterr().err


def test_machine_facts_hold_no_name_of_the_machine() -> None:
    import socket

    assert socket.gethostname() not in machine().model_dump_json()


def test_the_floor_has_the_shape_of_the_pipeline() -> None:
    pipeline = yaml.safe_load((ROOT / "dvc.yaml").read_text())
    bare, files = dvc_noop.floor(pipeline)
    for name, stage in pipeline["stages"].items():
        for kind in ("deps", "outs", "metrics", "plots"):
            assert len(list(dvc_noop.paths(bare["stages"][name], kind))) == len(list(dvc_noop.paths(stage, kind)))
        assert bare["stages"][name]["params"] == stage.get("params", [])
    assert len(files) == len(set(files))
    assert "stages" not in json.dumps(list(bare["stages"].values()))


def test_a_grown_world_holds_the_old_rows_and_copies_under_other_ids() -> None:
    world = bank.bank_world()
    grown = multiplied(world, 3)
    for table, rows in world.rows.tables.items():
        assert len(grown.rows.tables[table]) == 3 * len(rows)
        assert all(grown.rows.tables[table][key] == row for key, row in rows.items())
    assert len(bank.disputed(Session(grown), load_catalog(("banking",))).diff()) == 8


def test_the_calls_that_figures_share_do_what_their_titles_say() -> None:
    catalog, session = load_catalog(("banking",)), Session(bank.bank_world())
    looked = catalog.call(session, bank.read().tool, bank.read().arguments)
    assert looked.ok and len(looked.effects.reads) >= 40 and not looked.effects.writes
    outcomes = [catalog.call(session, call.tool, call.arguments) for call in bank.writes()]
    assert [(done.ok, len(done.effects.writes)) for done in outcomes] == [(True, 1)] * 8


async def test_the_reference_server_answers_the_same_bytes_as_ours() -> None:
    pool = SessionPool(load_catalog(("banking",)))
    meta: Any = {SESSION_KEY: pool.open(bank.SEED)}
    answers = []
    for server in (build_mcp_server(pool), build_echo()):
        async with Client(server) as client:
            await client.list_tools()
            answers.append(await client.call_tool(bank.read().tool, dict(bank.read().arguments), meta=meta))
    assert answers[0].content == answers[1].content
    assert answers[0].structured_content == answers[1].structured_content


def test_replay_notices_another_result_and_another_state() -> None:
    catalog, session = load_catalog(), Session(load_catalog().world(bank.SEED))
    session.user_turn()
    call = bank.writes()[0]
    done = catalog.call(session, call.tool, call.arguments)
    recorded = ExecutedCall(call.tool, call.arguments, 1, executed=True, ok=True, result=done.text)
    replay.replay([conversation(recorded, session.state_hash)])
    with pytest.raises(ValueError, match="ends in another state"):
        replay.replay([conversation(recorded, "0" * 32)])
    changed = ExecutedCall(call.tool, call.arguments, 1, executed=True, ok=True, result="{}")
    with pytest.raises(ValueError, match="answers otherwise"):
        replay.replay([conversation(changed, session.state_hash)])


def conversation(call: ExecutedCall, state_hash: str) -> Conversation:
    return Conversation(
        id="c", kind="multi_turn", server="banking", chain=(call.name,), world=bank.SEED, persona="",
        information="complete", perturbations=(), tools=(), messages=(), context={}, transitions=(),
        turns=(Turn(0, (call,), (), state_hash),), teacher="", cost=0.0, reference_date="",
    )  # fmt: skip


def test_the_scored_episodes_have_all_calls_one_too_few_and_one_too_many() -> None:
    calls = [ExecutedCall(name, {}, n, executed=True, ok=True) for n, name in enumerate("ab")]
    names = [[call.name for call in variant] for variant in reward.variants(calls)]
    assert names == [["a", "b"], ["a"], ["a", "a", "b"]]
