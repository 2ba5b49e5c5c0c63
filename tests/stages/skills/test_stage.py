"""The stage in its frame: its files, the same bytes again, a refresh, the teacher's opinion, and its page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from servers.kernel.catalog import load_catalog
from servers.kernel.session import Session
from stages.artifacts import Stamp, read_json, read_table, write_json, write_table
from stages.conversations import CONVERSATIONS, Conversation, Turn, to_row
from stages.dataset import RL_ROWS, RlRow, row_to_plain
from stages.episodes import EPISODES, episode_to_row, score_episode
from stages.params import ParamsError, SkillsParams
from stages.records import EpisodeRecord, ExecutedCall, Json, Message, ToolCall
from stages.report.inputs import Inputs
from stages.report.page import render
from stages.report.plots import Plotter
from stages.report.sections.skills import skill_sections
from stages.reward.rules import RewardRules
from stages.rollout import visible_spec
from stages.skills import __main__ as stage
from stages.skills.steps import STEPS
from stages.stage import StageContext
from stages.teacher.provider import load_litellm

load_litellm()  # takes many seconds on a busy machine, which are no test's own

CATALOG = load_catalog(("banking",))
STAMP = Stamp(CATALOG.fingerprint, "0")
TOOLS = tuple(visible_spec(CATALOG.entry(name).tool) for name in ("list_accounts", "get_account", "list_cards"))
HOSTILE = "<script>alert(1)</script>"


def conversation(number: int, *made: tuple[str, dict[str, Json]]) -> Conversation:
    """One turn of real calls."""
    session = Session(CATALOG.world(1))
    messages, calls = [Message("user", f"Show me {HOSTILE}.")], []
    for name, arguments in made:
        outcome = CATALOG.call(session, name, arguments)
        position = len(messages)
        messages += [
            Message("assistant", "", (ToolCall("c", name, arguments),)),
            Message("tool", outcome.text, tool_call_id="c"),
        ]
        calls.append(ExecutedCall(name, arguments, position, True, outcome.ok, outcome.text, str(outcome.error_code)))
    messages.append(Message("assistant", "I found what you see."))
    turn = Turn(0, tuple(calls), (), session.state_hash)
    return Conversation(
        f"conv-{number}", "multi_turn", "banking", (), 1, "plain", "complete", (), TOOLS, tuple(messages), (turn,), {},
        (), "scripted", 0.0, "2026-03-02",
    )  # fmt: skip


MADE = [
    conversation(0, ("list_accounts", {})),
    conversation(1, ("list_cards", {}), ("list_cards", {})),
    conversation(2, ("get_account", {"account_id": "ACC-1"}), ("list_accounts", {})),
    conversation(3, ("list_accounts", {})),
]


def rl_row(made: Conversation) -> RlRow:
    first = made.messages[:1]
    return RlRow(f"{made.id}/0", made.id, 0, made.kind, made.server, 1, TOOLS, first, (), (), made.turns[0].state_hash)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    write_table(data / "conversations" / "conversations.parquet", CONVERSATIONS, [to_row(c) for c in MADE], STAMP)
    trained = [row_to_plain(rl_row(made)) for made in MADE[:3]]
    write_table(data / "dataset" / "train.parquet", RL_ROWS, trained, STAMP)
    return tmp_path


def context(params: Mapping[str, Any] | None = None) -> StageContext[SkillsParams]:
    block = SkillsParams.model_validate({"min_cluster_size": 3, **(params or {})})
    return StageContext("skills", block, 7, {"bootstrap": {"servers": ["banking"]}})


def rollouts(workspace: Path) -> None:
    rows = []
    for number in range(3):
        made = MADE[3] if number else MADE[2]
        record = EpisodeRecord(made.messages, made.turns[0].calls, made.turns[0].state_hash, "answered")
        rows.append(episode_to_row(score_episode("sampled", rl_row(made), number, record, RewardRules())))
    write_table(workspace / "data" / "rollouts" / "train.parquet", EPISODES, rows, STAMP)


def test_it_decomposes_the_training_split_and_writes_the_same_bytes_again(workspace: Path) -> None:
    outputs = stage.main(context())
    assert [str(path) for path in outputs] == ["data/skills", "reports/metrics/skills.json"]
    steps = read_table(Path("data/skills/steps.parquet"), STEPS, CATALOG.fingerprint)
    assert {row["conversation"] for row in steps} == {"conv-0", "conv-1", "conv-2"}
    assert [row["skill"] for row in steps if row["conversation"] == "conv-2"] == ["inspect", "recover", "report"]
    metrics = read_json(Path("reports/metrics/skills.json"))
    assert metrics["steps"] == len(steps) == 8
    assert metrics["skills"]["inspect"] == {"subgoals": 1, "mean_score": 0.0}
    assert metrics["failed"]["no_needless_read"] == 1
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    stage.main(context())
    assert {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()} == before


def test_a_refresh_takes_in_what_was_played_and_without_it_changes_nothing(workspace: Path) -> None:
    stage.main(context())
    path = Path("data/skills/library.json")
    before = path.read_bytes()
    stage.refresh(context())
    assert path.read_bytes() == before
    rollouts(workspace)
    stage.refresh(context())
    new, old = read_json(path), json.loads(before)
    assert {p["id"] for p in new["prototypes"]} >= {p["id"] for p in old["prototypes"]}
    assert sum(p["size"] for p in new["prototypes"]) > sum(p["size"] for p in old["prototypes"])
    assert new["descriptions"] == old["descriptions"]


def test_the_scripted_teacher_cannot_judge(workspace: Path) -> None:
    stage.main(context())
    for run in (lambda: stage.agree(context()), lambda: stage.main(context({"judge": "teacher"}))):
        with pytest.raises(ParamsError, match="scripted teacher can't judge"):
            run()


def test_a_teachers_scores_stand_in_the_steps(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        stage, "opinions", lambda _, __, ___, judged: [[1] * (len(turn) - 1) + [None] for turn in judged]
    )
    stage.main(context({"judge": "teacher"}))
    steps = read_table(Path("data/skills/steps.parquet"), STEPS, CATALOG.fingerprint)
    assert [row["score"] for row in steps if row["conversation"] == "conv-1"] == [1, 1, 3]
    assert read_json(Path("reports/metrics/skills.json"))["unanswered"] == 3
    stage.agree(context({"agreement_turns": 3}))
    figures = read_json(Path("reports/skills_agreement.json"))
    assert (figures["turns"], figures["subgoals"], figures["unanswered"]) == (3, 4, 3)


def page(workspace: Path) -> str:
    plots = Plotter(workspace / "reports" / "plots")
    return render("Skills", "", skill_sections(Inputs(catalog=CATALOG), plots))


def test_the_page_shows_prototypes_checklists_and_what_training_did(workspace: Path) -> None:
    assert "run python -m stages.skills" in page(workspace)
    stage.main(context())
    text = page(workspace)
    library = read_json(Path("data/skills/library.json"))
    for prototype in library["prototypes"]:
        assert prototype["id"] in text
    assert "takes a name for an identifier" in text
    assert "conv-2" in text
    assert "Nothing is read again that can&#39;t have changed" in text
    assert "No training episodes are on record" in text
    rollouts(workspace)
    text = page(workspace)
    assert "too few training episodes" in text
    assert "1–1" in text


def test_a_hostile_conversation_id_is_text_on_the_page(workspace: Path) -> None:
    hostile = [replace(made, id=HOSTILE) for made in MADE[:1]]
    write_table(Path("data/conversations/conversations.parquet"), CONVERSATIONS, [to_row(c) for c in hostile], STAMP)
    write_table(Path("data/dataset/train.parquet"), RL_ROWS, [row_to_plain(rl_row(c)) for c in hostile], STAMP)
    stage.main(context())
    assert HOSTILE not in page(workspace)
    write_json(Path("reports/metrics/skills.json"), {"turns": 1})
    with pytest.raises(Exception, match="another shape"):
        page(workspace)


def test_steps_are_plain_rows(workspace: Path) -> None:
    stage.main(context())
    rows = read_table(Path("data/skills/steps.parquet"), STEPS, CATALOG.fingerprint)
    answers = [row for row in rows if not row["tool"]]
    assert len(answers) == 3
    assert all(row["message"] == len(made.messages) - 1 for row, made in zip(answers, MADE, strict=False))
    assert asdict(MADE[0].turns[0])["calls"][0]["name"] == rows[0]["tool"]
