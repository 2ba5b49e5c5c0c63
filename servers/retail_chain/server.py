"""The chain's server object, which the tool modules register with."""

from __future__ import annotations

from collections.abc import Iterator

from servers.kernel.server import Known, ToolServer
from servers.kernel.session import Session
from servers.retail_chain.model import Fault, Inbound, Item, Reservation, Stock, Store
from servers.retail_chain.seed import build


def knows(session: Session) -> Iterator[Known]:
    """The manager hears the pickup code from the customer at the counter."""
    for row in session.table(Reservation).all():
        yield Known("pickup_code", row.pickup_code, row.id)


server = ToolServer(
    "retail_chain",
    "Stock, prices, transfers and click-and-collect of a chain of shops",
    records=(Store, Item, Stock, Inbound, Reservation),
    seed=build,
    faults=Fault,
    knows=knows,
)
