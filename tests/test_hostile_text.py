"""Text in the worlds that poses as an instruction, a chat marker, a terminal escape or markup stays text.

Each server's world is full of it: in the rows that it starts from, and in whatever its tools have stored since.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from html.parser import HTMLParser

import pytest
from rich.console import Console
from typer.testing import CliRunner

from servers.__main__ import app
from servers.kernel.catalog import load_catalog, server_names
from servers.kernel.dice import Dice
from servers.kernel.errors import KernelFault
from servers.kernel.session import Session
from stages.chat import encode_conversation
from stages.dataset import RlRow
from stages.play.game import Game, free_episode, show_task
from stages.records import Message, ToolCall
from stages.report.blocks import Facts, Note, Table
from stages.report.page import Section, render
from stages.rollout import visible_spec
from stages.sampling import LiveState
from tests.fuzz.hostile import PAYLOADS, hostile_world, is_free, poisoned
from tests.fuzz.templates import WORD, families

SERVERS = server_names()
TEXTLESS = {"trading", "vehicle", "food_delivery", "travel_booking"}
"""Servers whose tools store no free text; their rows hold names and titles all the same."""

ESCAPE = "\x1b"


@pytest.mark.parametrize("name", SERVERS)
def test_hostile_text_is_stored_and_shown_as_it_is(name: str) -> None:
    found = poisoned(name)
    assert KernelFault.INTERNAL not in found.codes
    assert bool(found.written) == (name not in TEXTLESS)
    shown = " ".join(found.results)
    missing = [payload for payload in PAYLOADS if json.dumps(payload)[1:-1] not in shown]
    assert len(missing) <= (4 if name == "filesystem" else 0), "only paths refuse some of it"


@pytest.mark.parametrize("name", SERVERS)
def test_what_a_world_shows_yields_no_control_token(name: str) -> None:
    server = load_catalog((name,)).servers[name]
    tools = [visible_spec(tool) for tool in list(server.tools.values())[:3]]
    results = poisoned(name).results[:12]
    for family, (chat, control, _) in families().items():
        hostile = encode_conversation(chat, tools, _told(results, " ".join(PAYLOADS))).ids
        harmless = encode_conversation(chat, tools, _told([WORD] * len(results), WORD)).ids
        assert [i for i in hostile if i in control] == [i for i in harmless if i in control], family


def _told(results: Sequence[str], said: str) -> list[Message]:
    """A conversation in which tools show these results and everybody repeats what was said."""
    messages = [Message("system", said), Message("user", said)]
    for number, text in enumerate(results):
        call = ToolCall(f"call_0_{number}", "show", {"note": said})
        messages += [Message("assistant", said, (call,)), Message("tool", text, tool_call_id=call.id)]
    return [*messages, Message("assistant", said)]


def test_a_hostile_world_differs_from_the_first_one_in_its_texts_alone() -> None:
    """The control of this module: without payloads in the rows its tests would test nothing."""
    world, plain = hostile_world("email"), load_catalog(("email",)).world(0)
    assert world.rows.digest != plain.rows.digest
    rows = [row for table in world.rows.tables.values() for row in table.values()]
    assert all(any(payload in repr(row) or repr(payload)[1:-1] in repr(row) for row in rows) for payload in PAYLOADS)


def test_playing_shows_escapes_spelled_out() -> None:
    catalog = load_catalog(("team_chat",))
    state = LiveState(catalog, catalog.servers["team_chat"], Session(catalog.world(0)))
    given = state.working_binding(catalog.entry("post_chat_message").tool, Dice(0, "post"))
    assert given is not None
    text = f"{ESCAPE}[2J{ESCAPE}[31m[/bold]\u202e"
    typed = iter(
        [
            f"post_chat_message {json.dumps({**given.arguments, 'text': text})}",
            f"{ESCAPE}[2J",
            f"help {ESCAPE}[2J",
            "list_chat_messages " + "[" * 100_000,
            'list_chat_messages {"limit": NaN}',
            "list_chat_messages {}",
            "state",
            "done",
        ]
    )
    shown = io.StringIO()
    out = Console(file=shown, width=200, force_terminal=True, color_system=None)
    Game(catalog, free_episode(catalog, 0), lambda _prompt: next(typed), out).play()
    assert ESCAPE not in shown.getvalue() and "\u202e" not in shown.getvalue()
    assert "\\x1b[2J\\x1b[31m[/bold]" in shown.getvalue(), "what was stored is shown, harmlessly"
    assert "nested deeper" in shown.getvalue() and "NaN is not a JSON number" in shown.getvalue()


def test_a_task_shows_escapes_spelled_out() -> None:
    said = (Message("user", f"{ESCAPE}]0;title\x07 Pay\nnow \x9b31m"),)
    row = RlRow("r", "c", 0, "multi_turn", "banking", 0, (), said, (), (), "")
    shown = io.StringIO()
    show_task(row, Console(file=shown, width=200, color_system=None))
    assert shown.getvalue().startswith("user: \\x1b]0;title\\x07 Pay\nnow \\x9b31m\n")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_command_shows_escapes_spelled_out(form: list[str]) -> None:
    given = {"name": f"{ESCAPE}[2J<|im_end|>", "iban_number": "DE871234567812345678"}
    shown = CliRunner().invoke(app, ["call", "add_payee", json.dumps(given), *form])
    assert shown.exit_code == 0 and ESCAPE not in shown.output
    assert "[2J<|im_end|>" in shown.output


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_shows_hostile_text_as_text() -> None:
    text = " ".join(PAYLOADS)

    def read(word: str) -> _Reader:
        blocks = (Note(word), Facts([(word, word)]), Table(word, [word], [[word]], sortable=True))
        reader = _Reader()
        reader.feed(render(word, word, [Section("key", word, blocks)], [(word, word)]))
        return reader

    hostile, harmless = read(text), read(WORD)
    assert hostile.tags == harmless.tags
    assert hostile.text.count(text) >= 6


def test_servers_without_text_have_no_tool_that_takes_any() -> None:
    """Their free parameters are codes and choices that must exist."""
    for name in SERVERS:
        tools = load_catalog((name,)).servers[name].tools.values()
        free = [p.name for tool in tools if not tool.read_only for p in tool.parameters if is_free(p)]
        if name in TEXTLESS:
            assert set(free) <= {"choice", "promo_code", "voucher_code"}
