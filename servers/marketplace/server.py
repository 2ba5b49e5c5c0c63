"""The marketplace's server object, which the tool modules register with."""

from __future__ import annotations

from servers.kernel.server import ToolServer
from servers.marketplace.model import Bid, Fault, Listing, Message, Offer, Rating, Sale, Watch
from servers.marketplace.seed import build

server = ToolServer(
    "marketplace",
    "Auctions, fixed-price listings, offers and deals of a marketplace member",
    records=(Listing, Bid, Offer, Sale, Rating, Message, Watch),
    seed=build,
    faults=Fault,
)
