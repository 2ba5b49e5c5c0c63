"""Tools that find, read and sort mail."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from servers.email.model import Email, EmailId, Fault, Folder, LabelName, Mark, Target, ThreadId
from servers.email.rules import attachments_of, email_of, label_of, mails
from servers.email.server import server
from servers.email.views import EmailDetails, EmailItem, EmailState, FileItem, email_item, email_state
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session

MOST_LABELS = 3
ASIDE: tuple[Folder, ...] = ("scheduled", "spam", "trash")
"""Folders that a plain list leaves out."""


@server.tool(read_only=True)
def list_emails(
    session: Session,
    query: Query = "",
    folder: Folder | None = None,
    thread_id: ThreadId | None = None,
    unread_only: bool = False,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[EmailItem]:
    """List the e-mails of inbox, archive and sent, or of one folder, newest first; a query searches every folder.

    Without a folder, scheduled mail, spam and trash appear only in a search or a conversation.

    Args:
        query: words of the sender's address, the subject or the text.
        folder: only this folder.
        thread_id: only this conversation, from get_email.
        unread_only: only unread e-mails.
        limit: most e-mails to return.
        offset: how many to skip.
    """
    rows = search(mails(session), query, lambda row: f"{row.sender} {row.subject} {row.body}")
    hidden = () if folder or query or thread_id else ASIDE
    rows = [
        row
        for row in rows
        if row.folder not in hidden
        and folder in (None, row.folder)
        and thread_id in (None, row.thread_id)
        and (row.unread or not unread_only)
    ]
    rows.sort(key=lambda row: (-row.sent_at.timestamp(), row.id))
    return paginate([email_item(row) for row in rows], limit, offset)


@server.tool(read_only=True)
def get_email(session: Session, email_id: EmailId) -> EmailDetails:
    """Read one e-mail: recipients, text, labels and attachments. It stays unread until marked.

    Args:
        email_id: the e-mail, from list_emails.

    Raises:
        email_purged: it was deleted for good.
    """
    mail = email_of(session, email_id)
    files = [FileItem(file.id, file.name, file.size_kb) for file in attachments_of(session, mail.id)]
    return EmailDetails(
        id=mail.id,
        thread_id=mail.thread_id,
        sender=mail.sender,
        to=list(mail.to),
        subject=mail.subject,
        body=mail.body,
        sent_at=mail.sent_at,
        unread=mail.unread,
        labels=list(mail.labels) or None,
        attachments=files or None,
    )


@server.tool(idempotent=True)
def mark_email(session: Session, email_id: EmailId, mark: Mark) -> EmailState:
    """Mark an e-mail as read, unread, starred or unstarred.

    Args:
        email_id: the e-mail, from list_emails.
        mark: the new mark.

    Raises:
        email_purged: it was deleted for good.
        sent_is_final: sent mail can't become unread.
        not_sent_yet: a scheduled e-mail can't be marked.
    """
    mail = email_of(session, email_id)
    if mail.folder == "sent" and mark == "unread":
        raise ToolError(Fault.SENT_IS_FINAL, "The user's own sent mail can't be unread; starred works.")
    _refuse_scheduled(mail)
    changes = {"read": (False, mail.starred), "unread": (True, mail.starred)}
    changes |= {"starred": (mail.unread, True), "unstarred": (mail.unread, False)}
    unread, starred = changes[mark]
    return _keep(session, replace(mail, unread=unread, starred=starred))


@server.tool(idempotent=True)
def move_email(session: Session, email_id: EmailId, folder: Target) -> EmailState:
    """Move an e-mail: archive it, trash it, report it as spam, or put it back into the inbox.

    Trash is kept for 30 days and can be put back until then.

    Args:
        email_id: the e-mail, from list_emails.
        folder: where it goes.

    Raises:
        email_purged: it was in the trash for more than 30 days.
        sent_is_final: sent mail stays where it is.
        not_sent_yet: a scheduled e-mail can't be moved.
    """
    mail = email_of(session, email_id)
    if mail.folder == "sent":
        raise ToolError(
            Fault.SENT_IS_FINAL, "Sent mail can't be moved; undo_send_email takes it back within ten minutes."
        )
    _refuse_scheduled(mail)
    moved_at = mail.moved_at if mail.folder == folder else session.now
    return _keep(session, replace(mail, folder=folder, moved_at=moved_at))


@server.tool()
def label_email(
    session: Session, email_id: EmailId, label: LabelName, action: Literal["add", "remove"] = "add"
) -> EmailState:
    """Put a label on an e-mail, or take it off.

    Args:
        email_id: the e-mail, from list_emails.
        label: one of the labels in get_mailbox_usage.
        action: add or remove.

    Raises:
        email_purged: it was deleted for good.
        in_trash: trashed mail takes no labels.
        not_sent_yet: a scheduled e-mail takes no labels.
        label_not_set: the label to remove is not on it.
        too_many_labels: it has three labels.
    """
    mail = email_of(session, email_id)
    label_of(session, label)
    _refuse_scheduled(mail)
    if mail.folder == "trash":
        raise ToolError(Fault.IN_TRASH, "The e-mail is in the trash; move_email it to the inbox first.")
    have = ", ".join(mail.labels) or "none"
    if action == "remove" and label not in mail.labels:
        raise ToolError(Fault.LABEL_NOT_SET, f"The e-mail does not have the label {label}; its labels: {have}.")
    if action == "add" and label not in mail.labels and len(mail.labels) >= MOST_LABELS:
        raise ToolError(Fault.TOO_MANY_LABELS, f"It has {MOST_LABELS} labels already ({have}); remove one first.")
    labels = {*mail.labels, label} if action == "add" else set(mail.labels) - {label}
    return _keep(session, replace(mail, labels=tuple(sorted(labels))))


def _refuse_scheduled(mail: Email) -> None:
    if mail.folder == "scheduled":
        raise ToolError(
            Fault.NOT_SENT_YET,
            f"The e-mail leaves at {mail.sent_at:%Y-%m-%d %H:%M} UTC; undo_send_email makes it a draft again.",
        )


def _keep(session: Session, mail: Email) -> EmailState:
    """Store a message that the user touched, so that filters leave it alone from now on."""
    return email_state(session.table(Email).put(replace(mail, touched=True)))
