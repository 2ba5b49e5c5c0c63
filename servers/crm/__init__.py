"""A customer-relations system as a sales manager's assistant sees it."""

from servers.crm import tools, tools_deals, tools_leads
from servers.crm.server import server

__all__ = ["server", "tools", "tools_deals", "tools_leads"]
