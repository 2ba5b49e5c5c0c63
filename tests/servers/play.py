"""A short way to write scenarios: calls that must work, and calls that must fail with a certain code."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from servers.kernel.catalog import load_catalog
from servers.kernel.session import Session


class Play:
    """A fresh session of one server."""

    def __init__(self, server: str, seed: int = 0) -> None:
        self.catalog = load_catalog((server,))
        self.server = self.catalog.servers[server]
        self.session = Session(self.catalog.world(seed))

    def ok(self, tool: str, **arguments: Any) -> Any:
        """Run a call that must succeed and return its result."""
        outcome = self.catalog.call(self.session, tool, arguments)
        assert outcome.ok, f"{tool}({arguments}) -> {outcome.text}"
        return json.loads(outcome.text)

    def fails(self, code: str, tool: str, **arguments: Any) -> str:
        """Run a call that must fail with this code and change nothing; return its message."""
        before = self.session.state_hash
        outcome = self.catalog.call(self.session, tool, arguments)
        assert outcome.error_code == code, f"{tool}({arguments}) -> {outcome.text}"
        assert self.session.state_hash == before
        return str(json.loads(outcome.text)["error"]["message"])

    def wait(self, **delta: float) -> None:
        """Let virtual time pass, as user turns do: `wait(hours=25)`."""
        until = self.session.now + timedelta(**delta)
        while self.session.now < until:
            self.session.user_turn()

    def rows(self, kind: type) -> list[Any]:
        """The raw rows of a record class, hidden columns included."""
        return self.session.table(kind).all()
