"""The session that a person plays: lines in; results, changed rows and, at the end, the reward out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from servers.kernel.catalog import Catalog
from servers.kernel.session import Session
from stages.dataset import RlRow
from stages.episodes import Scorer
from stages.play.changes import between, lines
from stages.play.line import LineError, arguments_of, asked, command_of, hint, kind_of
from stages.progress import visible
from stages.records import Message, ToolCall, ToolSpec
from stages.rollout import Episode, episode_for, visible_spec

HELP = """TOOL {"name": "value"}   call a tool; without the JSON object its required arguments are asked for
tools [WORD]             the tools, or those whose name or summary has the word
help TOOL                a tool's parameters
state                    every row that differs from the start of the world
done                     end, and see the reward of a row's task; so does the end of input"""
_MANY_CALLS = 1_000_000
_PARTS = ("validity", "coverage", "efficiency", "name", "arguments")


class Game:
    """One live session in a person's hands.

    Args:
        catalog: the servers behind it.
        episode: the session, what has been said, and the tools that may be called.
        ask: shows a prompt and returns a line; raises EOFError at the end of input.
        out: where everything is shown.
    """

    def __init__(self, catalog: Catalog, episode: Episode, ask: Callable[[str], str], out: Console) -> None:
        self.episode = episode
        self._catalog, self._ask, self._out = catalog, ask, out
        self._names = sorted(tool.name for tool in episode.tools)
        self._commands = {"tools": self._list, "help": self._help, "state": self._state}

    def play(self) -> None:
        """Take lines until `done` or the end of input; a bad line is answered with advice."""
        while True:
            try:
                word, rest = command_of(self._ask("> "))
                if word == "done":
                    return
                if word:
                    self._do(word, rest)
            except LineError as error:
                self._say(str(error))
            except EOFError:
                return

    def _do(self, word: str, rest: str) -> None:
        if word in self._names:
            self._call(word, rest)
        elif word in self._commands:
            self._commands[word](rest)
        else:
            near = hint(word, [*self._names, *self._commands, "done"])
            raise LineError(f"there is no tool or command {word[:80]!r}: {near}")

    def _call(self, name: str, rest: str) -> None:
        given = arguments_of(rest) if rest else asked(self._catalog.entry(name).tool, self._ask)
        before = self.episode.session.diff()
        number = len(self.episode.calls)
        self.episode.respond(Message("assistant", "", (ToolCall(f"call-{number}", name, given),)))
        call = self.episode.calls[-1]
        self._say("ok" if call.ok else f"refused: {call.error_code}")
        self._say(json.dumps(json.loads(call.result), indent=2, ensure_ascii=True))
        for change in between(before, self.episode.session.diff()):
            for line in lines(change):
                self._say(line)

    def _list(self, word: str) -> None:
        table = Table("tool", "parameters", "what it does", box=None, header_style="bold")
        for name in self._names:
            tool = self._catalog.entry(name).tool
            if word.casefold() in f"{name} {tool.summary}".casefold():
                told = ", ".join(p.name + ("" if p.required else "?") for p in tool.parameters)
                table.add_row(name, told, Text(tool.summary))
        self._out.print(table)

    def _help(self, name: str) -> None:
        if name not in self._names:
            self._say(HELP if not name else f"there is no tool {name[:80]!r}: {hint(name, self._names)}")
            return
        tool = self._catalog.entry(name).tool
        self._say(tool.description)
        for parameter in tool.parameters:
            told = "" if parameter.required else ", optional"
            about = parameter.schema.get("description", "")
            self._say(f"  {parameter.name} ({kind_of(parameter.schema)}{told}): {about}")

    def _state(self, _rest: str) -> None:
        changes = between([], self.episode.session.diff())
        for change in changes:
            for line in lines(change):
                self._say(line)
        if not changes:
            self._say("nothing differs from the start of the world")

    def _say(self, text: str) -> None:
        self._out.print(visible(text), markup=False, highlight=False, soft_wrap=True)


def free_episode(catalog: Catalog, seed: int) -> Episode:
    """A fresh session of a world with all tools of the catalogue and no task."""
    tools = [visible_spec(entry.tool) for entry in catalog.entries.values()]
    return Episode(catalog, Session(catalog.world(seed)), tools, (), _MANY_CALLS)


def row_episode(catalog: Catalog, row: RlRow) -> Episode:
    """A session at the moment when a row's turn begins, with the row's tools."""
    return episode_for(catalog, row, _MANY_CALLS)


def show_task(row: RlRow, out: Console) -> None:
    """Print what was said before, the request last, and the tools that are shown."""
    for message in row.messages:
        calls = "".join(f"\n  {call.name} {json.dumps(call.arguments)}" for call in message.tool_calls)
        out.print(visible(f"{message.role}: {message.content}{calls}"), markup=False, highlight=False, soft_wrap=True)
    names = ", ".join(_names(row.tools))
    out.print(visible(f"tools: {names}"), markup=False, highlight=False, soft_wrap=True)


def show_reward(row: RlRow, episode: Episode, scorer: Scorer, out: Console) -> float:
    """Print the reward of what was played and the calls that the task has; returns the total."""
    episode.respond(Message("assistant", ""))
    scored = scorer.score("person", row, 0, episode.finish()).reward
    table = Table("reward", box=None, header_style="bold")
    table.add_column(f"{scored.total:.3f}", justify="right")
    for part in _PARTS:
        table.add_row(part, f"{getattr(scored, part):.3f}")
    table.add_row("task solved", "yes" if scored.outcome else "no")
    out.print(table)
    out.print("the task's own calls:" if row.truth else "the task wants no call")
    for call in row.truth:
        told = json.dumps(call.arguments, ensure_ascii=True)
        out.print(f"  {call.name} {told}", markup=False, highlight=False, soft_wrap=True)
    return scored.total


def _names(tools: Sequence[ToolSpec]) -> list[str]:
    return [tool.name for tool in tools]
