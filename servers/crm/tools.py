"""The CRM's tools, by group; importing this registers them all."""

from __future__ import annotations

from servers.crm import tools_contacts, tools_deals, tools_leads
from servers.crm.server import server

__all__ = ["server", "tools_contacts", "tools_deals", "tools_leads"]
