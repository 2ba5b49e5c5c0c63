"""The e-mail server, to which the tool modules add their tools."""

from __future__ import annotations

from servers.email.model import Attachment, Contact, Draft, Email, Fault, Filter, Label, Mailbox
from servers.email.seed import build
from servers.kernel.server import ToolServer

server = ToolServer(
    "email",
    "Inbox, drafts, threads, labels and filters of one mailbox",
    records=(Mailbox, Contact, Label, Email, Attachment, Draft, Filter),
    seed=build,
    faults=Fault,
)
