"""The mailbox's tools, group by group."""

from __future__ import annotations

from servers.email import tools_contacts, tools_inbox, tools_write
from servers.email.server import server

__all__ = ["server", "tools_contacts", "tools_inbox", "tools_write"]
