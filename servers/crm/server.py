"""The CRM's server object, which its tool modules fill."""

from __future__ import annotations

from servers.crm.model import Activity, Company, Contact, Deal, Fault, Lead, Quote, Rep
from servers.crm.seed import build
from servers.kernel.server import ToolServer

server = ToolServer(
    "crm",
    "Leads, contacts, companies and deals of a sales team",
    records=(Rep, Company, Contact, Lead, Deal, Quote, Activity),
    seed=build,
    faults=Fault,
)
