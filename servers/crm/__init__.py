"""A customer-relations system as a sales manager's assistant sees it."""

from servers.crm.tools import server

__all__ = ["server"]
