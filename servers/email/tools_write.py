"""Tools that write, attach, send and take back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.email.model import Attachment, AttachmentId, Draft, DraftId, Email, EmailAddress, EmailId, Fault, Folder
from servers.email.rules import (
    DAILY_SENDS,
    MOST_ATTACHED_KB,
    REFUSED_TYPES,
    UNDO_WINDOW,
    attachments_of,
    check_addresses,
    check_room,
    draft_of,
    email_of,
    mailbox,
    quotable,
    sent_today,
)
from servers.email.server import server
from servers.email.views import DraftItem, SentMail, draft_item
from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import DateTime

FARTHEST = timedelta(days=365)

Recipients = Annotated[list[EmailAddress], Field(min_length=1, max_length=10)]
Subject = Annotated[str, Field(max_length=120)]
Body = Annotated[str, Field(max_length=2000)]


@server.tool(read_only=True)
def list_email_drafts(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[DraftItem]:
    """List drafts that are not sent yet with their ids, last saved first.

    Args:
        query: words of the subject, the text or a recipient.
        limit: most drafts to return.
        offset: how many to skip.
    """
    rows = search(session.table(Draft).all(), query, lambda row: f"{row.subject} {row.body} {' '.join(row.to)}")
    rows.sort(key=lambda row: (-row.saved_at.timestamp(), row.id))
    return paginate([draft_item(session, row) for row in rows], limit, offset)


@server.tool()
def draft_email(session: Session, recipients: Recipients, subject: Subject, body: Body) -> DraftItem:
    """Write a new e-mail as a draft; send_draft sends it.

    Args:
        recipients: their addresses, from list_email_contacts.
        subject: the subject line.
        body: the text; the signature is added when it is sent.

    Raises:
        invalid_address: a recipient is no e-mail address.
        recipient_blocked: a recipient is blocked.
    """
    check_addresses(session, recipients)
    return draft_item(session, _save(session, "", tuple(dict.fromkeys(recipients)), subject, body))


@server.tool()
def draft_reply(session: Session, email_id: EmailId, body: Body, reply_all: bool = False) -> DraftItem:
    """Write a reply to an e-mail as a draft; send_draft sends it.

    Args:
        email_id: the e-mail to answer, from list_emails.
        body: the text.
        reply_all: whether everybody on the e-mail gets it.

    Raises:
        email_purged: the e-mail was deleted for good.
        in_trash: the e-mail is in the trash.
        in_spam: the e-mail is in spam.
        not_sent_yet: the e-mail is scheduled.
        no_reply_address: the sender reads no replies.
        recipient_blocked: a recipient is blocked.
    """
    mail, own = quotable(session, email_id), mailbox(session).id
    people = mail.to if mail.sender == own else (mail.sender, *mail.to) if reply_all else (mail.sender,)
    to = tuple(dict.fromkeys(address for address in people if address != own)) or (own,)
    if any(address.startswith(("noreply@", "no-reply@")) for address in to):
        raise ToolError(Fault.NO_REPLY_ADDRESS, f"{mail.sender} reads no replies; use draft_email to another address.")
    check_addresses(session, to)
    subject = mail.subject if mail.subject.startswith("Re: ") else f"Re: {mail.subject}"
    return draft_item(session, _save(session, mail.thread_id, to, subject, body))


@server.tool()
def draft_forward(session: Session, email_id: EmailId, recipients: Recipients, note: Body = "") -> DraftItem:
    """Prepare to forward an e-mail with its attachments as a draft; send_draft sends it.

    Args:
        email_id: the e-mail to pass on, from list_emails.
        recipients: their addresses, from list_email_contacts.
        note: text above the forwarded one.

    Raises:
        email_purged: the e-mail was deleted for good.
        in_trash: the e-mail is in the trash.
        in_spam: the e-mail is in spam.
        not_sent_yet: the e-mail is scheduled.
        invalid_address: a recipient is no e-mail address.
        recipient_blocked: a recipient is blocked.
        storage_full: its attachments don't fit into the mailbox again.
    """
    mail = quotable(session, email_id)
    check_addresses(session, recipients)
    files = attachments_of(session, mail.id)
    check_room(session, sum(file.size_kb for file in files))
    body = f"{note}\n--\n{mail.body}".strip()
    draft = _save(session, "", tuple(dict.fromkeys(recipients)), f"Fwd: {mail.subject}", body)
    for file in files:
        session.table(Attachment).add(replace(file, id=session.new_id("EAT"), holder_id=draft.id))
    return draft_item(session, draft)


@server.tool()
def attach_to_draft(session: Session, draft_id: DraftId, attachment_id: AttachmentId) -> DraftItem:
    """Attach a file that came with an earlier e-mail to a draft.

    Args:
        draft_id: the draft, from list_email_drafts.
        attachment_id: the file, from get_email.

    Raises:
        email_purged: the file's e-mail was deleted for good.
        attachment_refused: programs can't be sent.
        already_attached: the draft has this file.
        attachments_too_large: the draft's files would exceed 25 MB.
        storage_full: the mailbox has no room for a copy.
    """
    draft = draft_of(session, draft_id)
    hint = "get_email shows the files of an e-mail."
    file = session.table(Attachment).require(attachment_id, hint)
    if session.table(Email).get(file.holder_id) is None:
        raise ToolError(KernelFault.NOT_FOUND, f"That file belongs to another draft. {hint}")
    email_of(session, file.holder_id)
    _refuse_programs([file])
    present = attachments_of(session, draft.id)
    if any((other.name, other.size_kb) == (file.name, file.size_kb) for other in present):
        raise ToolError(Fault.ALREADY_ATTACHED, f"{file.name} is attached to this draft already.")
    left = MOST_ATTACHED_KB - sum(other.size_kb for other in present)
    if file.size_kb > left:
        raise ToolError(
            Fault.ATTACHMENTS_TOO_LARGE,
            f"{file.name} has {file.size_kb} kB and only {left} kB of 25 MB are left; use a second draft.",
        )
    check_room(session, file.size_kb)
    session.table(Attachment).add(replace(file, id=session.new_id("EAT"), holder_id=draft.id))
    return draft_item(session, session.table(Draft).put(replace(draft, saved_at=session.now)))


@server.tool()
def send_draft(session: Session, draft_id: DraftId, send_at: DateTime | None = None) -> SentMail:
    """Send a draft now or at a later time; undo_send_email can take it back for ten minutes.

    Args:
        draft_id: the draft, from list_email_drafts or one of the draft tools.
        send_at: when it leaves; at once without it.

    Raises:
        draft_empty: it has no text.
        recipient_blocked: a recipient is blocked.
        attachment_refused: one of its files is a program.
        send_time_past: the time has passed.
        send_time_too_far: the time is more than a year ahead.
        daily_send_limit_reached: 20 e-mails left today.
    """
    draft, box = draft_of(session, draft_id), mailbox(session)
    if not draft.body.strip():
        raise ToolError(Fault.DRAFT_EMPTY, "The draft has no text; write it anew with draft_email.")
    check_addresses(session, draft.to)
    _refuse_programs(attachments_of(session, draft.id))
    when = send_at or session.now
    if when < session.now:
        raise ToolError(Fault.SEND_TIME_PAST, f"It is {session.now:%Y-%m-%d %H:%M} UTC now; choose a later time.")
    if when > session.now + FARTHEST:
        raise ToolError(Fault.SEND_TIME_TOO_FAR, f"Choose a time before {session.now + FARTHEST:%Y-%m-%d}.")
    if when == session.now and sent_today(session) >= DAILY_SENDS:
        raise ToolError(
            Fault.DAILY_LIMIT_REACHED, f"{DAILY_SENDS} e-mails left today, which is the most; set send_at to tomorrow."
        )
    folder: Folder = "sent" if when == session.now else "scheduled"
    mail = Email(
        id=session.new_id("EML"),
        thread_id=draft.thread_id or session.new_id("ETH"),
        sender=box.id,
        to=draft.to,
        subject=draft.subject,
        body=f"{draft.body}\n{box.signature}",
        sent_at=when,
        folder=folder,
        unread=False,
        moved_at=session.now,
        signature=box.signature,
        touched=True,
    )
    session.table(Email).add(mail)
    _hand_over(session, draft.id, mail.id)
    session.table(Draft).remove(draft.id)
    return SentMail(mail.id, mail.subject, folder, when, when + UNDO_WINDOW)


@server.tool()
def undo_send_email(session: Session, email_id: EmailId) -> DraftItem:
    """Take back an e-mail sent in the last ten minutes or scheduled for later; it becomes a draft again.

    Args:
        email_id: the e-mail, from send_draft or list_emails.

    Raises:
        email_purged: it was deleted for good.
        not_yours: somebody else sent it.
        undo_window_over: it left more than ten minutes ago.
    """
    mail = email_of(session, email_id)
    if mail.sender != mailbox(session).id or mail.folder not in ("sent", "scheduled"):
        raise ToolError(
            Fault.NOT_YOURS, "Only the user's own e-mails can be taken back; list_emails has a sent folder."
        )
    if mail.folder == "sent" and session.now - mail.sent_at > UNDO_WINDOW:
        raise ToolError(
            Fault.UNDO_WINDOW_OVER,
            f"It left at {mail.sent_at:%Y-%m-%d %H:%M} UTC, more than ten minutes ago; draft_reply can correct it.",
        )
    body = mail.body.removesuffix(f"\n{mail.signature}")
    draft = _save(session, mail.thread_id, mail.to, mail.subject, body)
    _hand_over(session, mail.id, draft.id)
    session.table(Email).remove(mail.id)
    return draft_item(session, draft)


def _refuse_programs(files: Iterable[Attachment]) -> None:
    for file in files:
        if file.name.endswith(REFUSED_TYPES):
            raise ToolError(
                Fault.ATTACHMENT_REFUSED, f"{file.name} is a program, which can't be sent; write a draft without it."
            )


def _save(session: Session, thread_id: str, to: tuple[str, ...], subject: str, body: str) -> Draft:
    draft = Draft(session.new_id("EDR"), thread_id, to, subject, body, session.now)
    return session.table(Draft).add(draft)


def _hand_over(session: Session, old: str, new: str) -> None:
    """Give the files of one holder to another."""
    for file in attachments_of(session, old):
        session.table(Attachment).put(replace(file, holder_id=new))
