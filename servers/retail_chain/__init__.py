"""A chain of shops as its area manager's assistant sees it."""

from servers.retail_chain.tools import server

__all__ = ["server"]
