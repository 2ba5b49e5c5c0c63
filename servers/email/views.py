"""What the mailbox's tools return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from servers.email.model import AttachmentId, Draft, DraftId, Email, EmailAddress, EmailId, Folder, LabelName, ThreadId
from servers.email.rules import attachments_of
from servers.kernel.session import Session


@dataclass(frozen=True, slots=True)
class EmailItem:
    """A message in a list."""

    id: EmailId
    sender: EmailAddress
    subject: str
    sent_at: datetime
    folder: Folder


@dataclass(frozen=True, slots=True)
class FileItem:
    """A file of a message."""

    id: AttachmentId
    name: str
    size_kb: int


@dataclass(frozen=True, slots=True)
class EmailDetails:
    """One message; empty parts are left out."""

    id: EmailId
    thread_id: ThreadId
    sender: EmailAddress
    to: list[EmailAddress]
    subject: str
    body: str
    sent_at: datetime
    unread: bool
    labels: list[LabelName] | None = None
    attachments: list[FileItem] | None = None


@dataclass(frozen=True, slots=True)
class EmailState:
    """What a change left of a message."""

    id: EmailId
    subject: str
    folder: Folder
    unread: bool
    starred: bool
    labels: list[LabelName] | None = None


@dataclass(frozen=True, slots=True)
class DraftItem:
    """A draft in a list, or after a change."""

    id: DraftId
    to: list[EmailAddress]
    subject: str
    attachments: int


@dataclass(frozen=True, slots=True)
class SentMail:
    """A message that left or will leave, and until when it can be taken back."""

    id: EmailId
    subject: str
    folder: Folder
    sent_at: datetime
    undo_until: datetime


@dataclass(frozen=True, slots=True)
class ContactItem:
    """A contact in a list."""

    email: EmailAddress
    name: str
    blocked: bool


@dataclass(frozen=True, slots=True)
class FilterView:
    """A new filter."""

    sender: EmailAddress | None
    words: str | None
    folder: str | None
    label: LabelName | None


@dataclass(frozen=True, slots=True)
class Signature:
    """The text below every message that is sent."""

    signature: str


@dataclass(frozen=True, slots=True)
class Usage:
    """How full the mailbox is."""

    used_mb: float
    quota_mb: float
    inbox: int
    unread: int
    drafts: int
    scheduled: int
    sends_left_today: int
    filters: int
    labels: list[LabelName]
    signature: str


def email_item(mail: Email) -> EmailItem:
    """One line of a list."""
    return EmailItem(mail.id, mail.sender, mail.subject, mail.sent_at, mail.folder)


def email_state(mail: Email) -> EmailState:
    """The parts of a message that the user can change."""
    return EmailState(mail.id, mail.subject, mail.folder, mail.unread, mail.starred, list(mail.labels) or None)


def draft_item(session: Session, draft: Draft) -> DraftItem:
    """One line of a list of drafts."""
    return DraftItem(draft.id, list(draft.to), draft.subject, len(attachments_of(session, draft.id)))
