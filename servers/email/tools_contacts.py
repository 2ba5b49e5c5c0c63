"""Tools for contacts, blocks, filters and the mailbox itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from servers.email.model import (
    Contact,
    Draft,
    Email,
    EmailAddress,
    Fault,
    Filter,
    FilterTarget,
    Label,
    LabelName,
    Mailbox,
)
from servers.email.rules import DAILY_SENDS, contact_of, label_of, mailbox, mails, sent_today, settled, used_kb
from servers.email.server import server
from servers.email.views import ContactItem, FilterView, Signature, Usage
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session

MOST_FILTERS = 10


@server.tool(read_only=True)
def list_email_contacts(
    session: Session, query: Query = "", blocked_only: bool = False, limit: Limit = 5, offset: Offset = 0
) -> Page[ContactItem]:
    """List contacts with their e-mail addresses; search by name before writing. Ordered by name.

    Args:
        query: words of the name or address.
        blocked_only: only contacts who are blocked.
        limit: most contacts to return.
        offset: how many to skip.
    """
    rows = search(session.table(Contact).all(), query, lambda row: f"{row.name} {row.id}")
    items = [ContactItem(row.id, row.name, row.blocked_at is not None) for row in rows]
    items = [item for item in items if item.blocked or not blocked_only]
    return paginate(sorted(items, key=lambda item: (item.name, item.email)), limit, offset)


@server.tool()
def change_sender_block(
    session: Session, email: EmailAddress, action: Literal["block", "unblock"] = "block"
) -> ContactItem:
    """Block a contact, so that their new mail goes to spam, or unblock them.

    Args:
        email: the contact, from list_email_contacts.
        action: what to do.

    Raises:
        own_address: it is the user's own address.
        already_blocked: the contact is blocked.
        not_blocked: the contact is not blocked.
    """
    contact = contact_of(session, email)
    if contact.id == mailbox(session).id:
        raise ToolError(Fault.OWN_ADDRESS, "That is the user's own address; choose somebody else's.")
    blocked = contact.blocked_at is not None
    if blocked and action == "block":
        raise ToolError(Fault.ALREADY_BLOCKED, f"{contact.name} is blocked since {contact.blocked_at:%Y-%m-%d}.")
    if not blocked and action == "unblock":
        raise ToolError(
            Fault.NOT_BLOCKED, f"{contact.name} is not blocked; list_email_contacts with blocked_only shows who is."
        )
    _settle(session, contact.id)
    session.table(Contact).put(replace(contact, blocked_at=None if blocked else session.now))
    return ContactItem(contact.id, contact.name, not blocked)


def _settle(session: Session, sender: str) -> None:
    """Keep the sender's mail where it lies, so that a change of the block concerns later mail alone."""
    for mail in session.table(Email).where(sender=sender, folder="inbox", touched=False):
        if mail.sent_at <= session.now:
            session.table(Email).put(replace(settled(session, mail), touched=True))


@server.tool()
def create_email_filter(
    session: Session,
    sender: EmailAddress | None = None,
    words: Annotated[str, Field(max_length=60)] = "",
    folder: FilterTarget | None = None,
    label: LabelName | None = None,
) -> FilterView:
    """Sort future mail by sender or words into a folder or under a label; mail here already stays.

    Args:
        sender: mail from this contact.
        words: mail whose subject or text has all these words.
        folder: where it goes.
        label: the label that it gets, one of those in get_mailbox_usage.

    Raises:
        filter_without_condition: neither sender nor words are given.
        filter_without_effect: neither folder nor label is given.
        filter_exists: there is the same filter.
        too_many_filters: there are ten filters.
    """
    if sender is None and not words.strip():
        raise ToolError(Fault.FILTER_WITHOUT_CONDITION, "Say which mail is meant: give sender, words or both.")
    if folder is None and label is None:
        raise ToolError(Fault.FILTER_WITHOUT_EFFECT, "Say what happens to the mail: give folder, label or both.")
    if sender is not None:
        contact_of(session, sender)
    if label is not None:
        label_of(session, label)
    rule = Filter(session.new_id("EFI"), sender or "", words.strip(), folder or "", label or "", session.now)
    others = session.table(Filter).all()
    if any(replace(other, id=rule.id, created_at=rule.created_at) == rule for other in others):
        raise ToolError(Fault.FILTER_EXISTS, "There is a filter that does exactly this already.")
    if len(others) >= MOST_FILTERS:
        raise ToolError(
            Fault.TOO_MANY_FILTERS, f"There are {MOST_FILTERS} filters, which is the most; move_email works."
        )
    session.table(Filter).add(rule)
    return FilterView(sender, rule.words or None, folder, label)


@server.tool(idempotent=True)
def set_email_signature(session: Session, text: Annotated[str, Field(min_length=1, max_length=200)]) -> Signature:
    """Set the signature that is put below every message when it is sent.

    Args:
        text: the new signature.
    """
    session.table(Mailbox).put(replace(mailbox(session), signature=text))
    return Signature(text)


@server.tool(read_only=True)
def get_mailbox_usage(session: Session) -> Usage:
    """Show how full the mailbox is: storage, unread mail, drafts, labels, signature, sends left today."""
    box, present = mailbox(session), mails(session)
    inbox = [mail for mail in present if mail.folder == "inbox"]
    return Usage(
        used_mb=round(used_kb(session) / 1000, 1),
        quota_mb=round(box.quota_kb / 1000, 1),
        inbox=len(inbox),
        unread=sum(mail.unread for mail in inbox),
        drafts=len(session.table(Draft).all()),
        scheduled=sum(mail.folder == "scheduled" for mail in present),
        sends_left_today=max(0, DAILY_SENDS - sent_today(session)),
        filters=len(session.table(Filter).all()),
        labels=sorted(row.id for row in session.table(Label).all()),
        signature=box.signature,
    )
