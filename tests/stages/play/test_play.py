"""Playing by hand: lines, hints, what changed, and the reward of a row played right and not at all."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from servers.kernel.catalog import Catalog, load_catalog
from servers.kernel.session import Session
from servers.kernel.tool import Parameter
from stages.artifacts import ArtifactError, Stamp, write_table
from stages.dataset import RL_ROWS, RlRow, row_to_plain
from stages.episodes import Scorer
from stages.play.changes import between, lines
from stages.play.game import Game, free_episode, row_episode, show_reward, show_task
from stages.play.line import LineError, kind_of, value_of
from stages.play.rows import SPLITS, row_of
from stages.records import Message, TruthCall
from stages.reward.rules import RewardRules
from stages.rollout import visible_spec

ROOT = Path(__file__).parents[3]
PAYEE = {"name": "Kite School", "iban_number": "DE871234567812345678"}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(("banking",))


@pytest.fixture
def row(catalog: Catalog) -> RlRow:
    after = Session(catalog.world(0))
    assert catalog.call(after, "add_payee", PAYEE).ok
    tools = tuple(visible_spec(catalog.entry(name).tool) for name in ("add_payee", "list_payees"))
    said = (Message("user", "Add Kite School, DE871234567812345678."),)
    truth = (TruthCall("add_payee", PAYEE),)
    return RlRow("conv-1/0", "conv-1", 0, "multi_turn", "banking", 0, tools, said, (), truth, after.state_hash)


def played(catalog: Catalog, typed: Sequence[str], row: RlRow | None = None) -> tuple[Game, str, list[str]]:
    """A game after these lines, what it showed, and the prompts that it gave."""
    rest, prompts, text = iter(typed), [], io.StringIO()

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        try:
            return next(rest)
        except StopIteration:
            raise EOFError from None

    episode = row_episode(catalog, row) if row else free_episode(catalog, 0)
    game = Game(catalog, episode, ask, Console(file=text, width=160))
    game.play()
    return game, text.getvalue(), prompts


def test_a_call_shows_its_result_and_the_rows_that_it_changed(catalog: Catalog) -> None:
    game, text, _ = played(catalog, [f"add_payee {json.dumps(PAYEE)}", "list_payees", "done", "list_cards"])
    assert "ok\n" in text and '"name": "Kite School"' in text
    assert text.count("+ banking.Payee PAY-") == 1, "a read changes nothing"
    assert "    name: 'Kite School'" in text
    assert [call.name for call in game.episode.calls] == ["add_payee", "list_payees"]


def test_changes_name_fields_and_taking_back(catalog: Catalog) -> None:
    session = Session(catalog.world(0))
    cards = json.loads(catalog.call(session, "list_cards", {}).text)["items"]
    card = next(c["id"] for c in cards if catalog.call(session.fork(), "freeze_card", {"card_id": c["id"]}).ok)
    start = session.diff()
    catalog.call(session, "freeze_card", {"card_id": card})
    frozen = session.diff()
    (change,) = between(start, frozen)
    first, *fields = lines(change)
    assert first == f"~ banking.Card {card}" and any("→" in field for field in fields)
    (back,) = between(frozen, start)
    assert (back.before, back.after) == (change.after, change.before)
    assert between(frozen, frozen) == []


def test_hints_and_bad_lines_end_nothing(catalog: Catalog) -> None:
    typed = ["list_acounts", "list_accounts {3", "list_accounts [3]", "xyzzy", "", "help set_card_limt", "state"]
    game, text, _ = played(catalog, typed)
    assert "there is no tool or command 'list_acounts': did you mean list_accounts" in text
    assert "the arguments are not JSON" in text and 'must be a JSON object such as {"limit": 3}' in text
    assert "'xyzzy': type tools to list them" in text
    assert "no tool 'set_card_limt': did you mean set_card_limit" in text
    assert "nothing differs from the start of the world" in text
    assert not game.episode.calls


def test_required_arguments_are_asked_for_and_an_empty_one_takes_the_call_back(catalog: Catalog) -> None:
    game, text, prompts = played(catalog, ["add_payee", "Kite School", "DE871234567812345678", "add_payee", ""])
    assert game.episode.calls[0].arguments == PAYEE and len(game.episode.calls) == 1
    assert prompts[1:3] == ["  name (text): ", "  iban_number (text): "]
    assert "add_payee was not called" in text


def test_answers_are_read_by_their_type() -> None:
    def parameter(**schema: object) -> Parameter:
        return Parameter("x", schema, required=True, entity=None, natural=False, sensitive=False)

    assert value_of(parameter(type="string"), "3") == "3"
    assert value_of(parameter(type="integer"), "3") == 3
    assert value_of(parameter(type="array", items={"type": "string"}), '["a"]') == ["a"]
    assert value_of(parameter(enum=["1", "2"]), "1") == "1"
    with pytest.raises(LineError, match="that is no integer"):
        value_of(parameter(type="integer"), "three")
    assert kind_of({"enum": ["a", "b"]}) == "a | b"
    assert kind_of({"type": "array", "items": {"type": "string"}}) == "JSON list of text"


def test_a_row_played_right_earns_all_and_not_at_all_nothing(catalog: Catalog, row: RlRow) -> None:
    text_of = io.StringIO()
    out = Console(file=text_of, width=160)
    rules = RewardRules()
    best = sum(rules.weights.model_dump().values()) - rules.weights.efficiency
    right, _, _ = played(catalog, [f"add_payee {json.dumps(PAYEE)}", "done"], row)
    assert show_reward(row, right.episode, Scorer(rules), out) == pytest.approx(best)
    idle, _, _ = played(catalog, [], row)
    assert show_reward(row, idle.episode, Scorer(rules), out) == 0.0
    outside, text, _ = played(catalog, ["list_accounts"], row)
    assert "no tool or command 'list_accounts'" in text and not outside.episode.calls
    show_task(row, out)
    shown = text_of.getvalue()
    assert "user: Add Kite School" in shown and "tools: add_payee, list_payees" in shown
    assert re.search(r"task solved +yes", shown) and re.search(r"task solved +no", shown)


def test_rows_are_found_in_any_split(tmp_path: Path, row: RlRow) -> None:
    for split in SPLITS:
        rows = [row_to_plain(row)] if split == "val" else []
        write_table(tmp_path / f"{split}.parquet", RL_ROWS, rows, Stamp("f", "p"))
    assert row_of("conv-1/0", "f", tmp_path) == row
    with pytest.raises(ArtifactError, match=r"no row 'conv-1/9' in .*; there are conv-1/0"):
        row_of("conv-1/9", "f", tmp_path)


def test_lines_may_be_piped_and_bad_usage_is_told(tmp_path: Path) -> None:
    def play(typed: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "stages.play", *options]
        return subprocess.run(command, cwd=ROOT, input=typed, capture_output=True, text=True, check=False)

    done = play("list_payees\n", "--server", "banking")
    assert done.returncode == 0 and '"items"' in done.stdout and "> " not in done.stdout
    wrong = play("", "--server", "bankin")
    assert wrong.returncode == 2 and "unknown server 'bankin'" in wrong.stderr
