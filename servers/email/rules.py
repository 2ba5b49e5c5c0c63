"""Where a message lies, what the mailbox holds, and what may be sent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from servers.email.model import Attachment, Contact, Draft, Email, Fault, Filter, Folder, Label, Mailbox
from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown

PURGE_AFTER = timedelta(days=30)
UNDO_WINDOW = timedelta(minutes=10)
MOST_ATTACHED_KB = 25_000
DAILY_SENDS = 20
REFUSED_TYPES = (".exe", ".bat", ".scr")

_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+", re.ASCII)
_FOLDERS: dict[str, Folder] = {"archive": "archive", "spam": "spam", "trash": "trash"}


def mailbox(session: Session) -> Mailbox:
    """The user's mailbox."""
    return session.table(Mailbox).all()[0]


def contact_of(session: Session, email: str) -> Contact:
    """The contact, or an error that says how to find one."""
    return session.table(Contact).require(email, "list_email_contacts shows the known addresses.")


def label_of(session: Session, label: str) -> Label:
    """The label, or an error that says which there are."""
    names = ", ".join(row.id for row in session.table(Label).all())
    return session.table(Label).require(label, f"The labels are {names}.")


def draft_of(session: Session, draft_id: str) -> Draft:
    """The draft, or an error that says how to find one."""
    return session.table(Draft).require(draft_id, "list_email_drafts shows the valid draft ids.")


def attachments_of(session: Session, holder_id: str) -> list[Attachment]:
    """The files of a message or a draft."""
    return session.table(Attachment).where(holder_id=holder_id)


def arrived(session: Session, mail: Email) -> bool:
    """Whether the message is in the mailbox yet."""
    return mail.folder == "scheduled" or mail.sent_at <= session.now


def purged(session: Session, mail: Email) -> bool:
    """Whether the message was in the trash for too long."""
    settled_mail = settled(session, mail)
    return settled_mail.folder == "trash" and session.now - settled_mail.moved_at >= PURGE_AFTER


def settled(session: Session, mail: Email) -> Email:
    """The message as it lies now: scheduled mail leaves at its time; blocks and filters sort what arrived untouched."""
    if mail.folder == "scheduled":
        return mail if mail.sent_at > session.now else replace(mail, folder="sent", moved_at=mail.sent_at)
    if mail.touched or mail.folder != "inbox":
        return mail
    labels = set(mail.labels)
    folder: Folder = mail.folder
    for rule in session.table(Filter).all():
        if rule.created_at <= mail.sent_at and matches(rule, mail):
            folder = _FOLDERS.get(rule.folder, folder)
            labels |= {rule.label} - {""}
    sender = session.table(Contact).get(mail.sender)
    if sender is not None and sender.blocked_at is not None and sender.blocked_at <= mail.sent_at:
        folder = "spam"
    return replace(mail, folder=folder, labels=tuple(sorted(labels)))


def matches(rule: Filter, mail: Email) -> bool:
    """Whether a filter is about a message."""
    words = rule.words.casefold().split()
    text = f"{mail.subject} {mail.body}".casefold()
    return rule.sender in ("", mail.sender) and all(word in text for word in words)


def mails(session: Session) -> list[Email]:
    """Every message in the mailbox, as it lies now."""
    found = [settled(session, mail) for mail in session.table(Email).all() if arrived(session, mail)]
    return [mail for mail in found if not purged(session, mail)]


def email_of(session: Session, email_id: str) -> Email:
    """The message as it lies now, or an error that says how to find one."""
    hint = "list_emails shows the valid ids."
    mail = session.table(Email).require(email_id, hint)
    if not arrived(session, mail):
        raise ToolError(KernelFault.NOT_FOUND, f"There is no email {shown(email_id)}. {hint}")
    if purged(session, mail):
        raise ToolError(Fault.EMAIL_PURGED, f"{shown(mail.subject)} was deleted for good after 30 days in the trash.")
    return settled(session, mail)


def quotable(session: Session, email_id: str) -> Email:
    """A message that may be answered or forwarded."""
    mail = email_of(session, email_id)
    if mail.folder == "trash":
        raise ToolError(Fault.IN_TRASH, "The e-mail is in the trash; move_email it to the inbox first.")
    if mail.folder == "spam":
        raise ToolError(Fault.IN_SPAM, "The e-mail is in spam; move_email it to the inbox first if it is genuine.")
    if mail.folder == "scheduled":
        raise ToolError(Fault.NOT_SENT_YET, f"The e-mail leaves at {mail.sent_at:%Y-%m-%d %H:%M} UTC; wait until then.")
    return mail


def check_addresses(session: Session, to: Iterable[str]) -> None:
    """Refuse recipients who can't get mail from this mailbox."""
    for address in to:
        if not _ADDRESS.fullmatch(address):
            raise ToolError(
                Fault.INVALID_ADDRESS, f"{shown(address)} is no e-mail address; list_email_contacts has them."
            )
        contact = session.table(Contact).get(address)
        if contact is not None and contact.blocked_at is not None:
            raise ToolError(
                Fault.RECIPIENT_BLOCKED, f"{contact.name} is blocked; change_sender_block with unblock comes first."
            )


def used_kb(session: Session) -> int:
    """What the mailbox holds: two kilobytes a message or draft, and the files of both. Purged mail is free."""
    present = [mail.id for mail in session.table(Email).all() if arrived(session, mail) and not purged(session, mail)]
    holders = [*present, *(draft.id for draft in session.table(Draft).all())]
    return sum(2 + sum(file.size_kb for file in attachments_of(session, holder)) for holder in holders)


def check_room(session: Session, added_kb: int) -> None:
    """Refuse files that the quota has no room for."""
    free = mailbox(session).quota_kb - used_kb(session)
    if added_kb > free:
        raise ToolError(
            Fault.STORAGE_FULL,
            f"Only {max(free, 0) / 1000:.1f} MB are left and {added_kb / 1000:.1f} MB are needed; "
            "trash is freed after 30 days, so attach something smaller.",
        )


def sent_today(session: Session) -> int:
    """How many messages the user has sent, or let go by schedule, since midnight UTC."""
    own, today = mailbox(session).id, session.now.date()
    rows = session.table(Email).where(sender=own)
    return sum(row.sent_at.date() == today and row.sent_at <= session.now for row in rows)
