"""The processor's tools, registered group by group: charges, then what follows them."""

from __future__ import annotations

from servers.payments import tools_charges, tools_settlement
from servers.payments.server import server

__all__ = ["server", "tools_charges", "tools_settlement"]
