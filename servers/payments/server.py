"""The processor's server object, which the tool modules register with."""

from __future__ import annotations

from servers.kernel.server import ToolServer
from servers.payments.model import Customer, Delivery, Dispute, Endpoint, Fault, Intent, Invoice, Payout, Refund
from servers.payments.seed import build

server = ToolServer(
    "payments",
    "Invoices, card payments, refunds, disputes, webhooks and payouts of a merchant",
    records=(Customer, Invoice, Intent, Refund, Dispute, Endpoint, Delivery, Payout),
    seed=build,
    faults=Fault,
)
