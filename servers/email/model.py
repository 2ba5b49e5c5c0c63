"""Records and error codes of the mailbox."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from servers.kernel.store import Record
from servers.kernel.types import Entity

EmailId: TypeAlias = Annotated[str, Entity("email")]
ThreadId: TypeAlias = Annotated[str, Entity("email_thread")]
DraftId: TypeAlias = Annotated[str, Entity("email_draft")]
AttachmentId: TypeAlias = Annotated[str, Entity("email_attachment")]
EmailAddress: TypeAlias = Annotated[str, Entity("email_address", natural=True)]
LabelName: TypeAlias = Annotated[str, Entity("email_label", natural=True)]

Folder: TypeAlias = Literal["inbox", "archive", "sent", "scheduled", "spam", "trash"]
Target: TypeAlias = Literal["inbox", "archive", "spam", "trash"]
FilterTarget: TypeAlias = Literal["archive", "spam", "trash"]
Mark: TypeAlias = Literal["read", "unread", "starred", "unstarred"]


class Fault(StrEnum):
    """What the mailbox refuses, beyond bad arguments and unknown ids."""

    EMAIL_PURGED = "email_purged"
    IN_TRASH = "in_trash"
    IN_SPAM = "in_spam"
    SENT_IS_FINAL = "sent_is_final"
    NOT_SENT_YET = "not_sent_yet"
    NOT_YOURS = "not_yours"
    UNDO_WINDOW_OVER = "undo_window_over"
    INVALID_ADDRESS = "invalid_address"
    NO_REPLY_ADDRESS = "no_reply_address"
    RECIPIENT_BLOCKED = "recipient_blocked"
    DRAFT_EMPTY = "draft_empty"
    SEND_TIME_PAST = "send_time_past"
    SEND_TIME_TOO_FAR = "send_time_too_far"
    DAILY_LIMIT_REACHED = "daily_send_limit_reached"
    ALREADY_ATTACHED = "already_attached"
    ATTACHMENT_REFUSED = "attachment_refused"
    ATTACHMENTS_TOO_LARGE = "attachments_too_large"
    STORAGE_FULL = "storage_full"
    LABEL_NOT_SET = "label_not_set"
    TOO_MANY_LABELS = "too_many_labels"
    OWN_ADDRESS = "own_address"
    ALREADY_BLOCKED = "already_blocked"
    NOT_BLOCKED = "not_blocked"
    FILTER_WITHOUT_CONDITION = "filter_without_condition"
    FILTER_WITHOUT_EFFECT = "filter_without_effect"
    FILTER_EXISTS = "filter_exists"
    TOO_MANY_FILTERS = "too_many_filters"


@dataclass(frozen=True, slots=True)
class Mailbox(Record):
    """The user's mailbox, keyed by its address."""

    id: EmailAddress
    owner: str
    quota_kb: int
    signature: str


@dataclass(frozen=True, slots=True)
class Contact(Record):
    """A known address; what arrives after `blocked_at` goes to spam."""

    id: EmailAddress
    name: str
    blocked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Label(Record):
    """A label, keyed by its name."""

    id: LabelName
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Email(Record):
    """A message. It exists for the user from `sent_at` on, except for scheduled ones of their own.

    `folder` and `labels` hold from the moment that the user touched it; before that, blocks and filters decide.
    `moved_at` is when it came to its folder: trash is purged 30 days later.
    `signature` is what sending put below the body.
    """

    id: EmailId
    thread_id: ThreadId
    sender: EmailAddress
    to: tuple[str, ...]
    subject: str
    body: str
    sent_at: datetime
    folder: Folder
    unread: bool
    moved_at: datetime
    starred: bool = False
    labels: tuple[str, ...] = ()
    touched: bool = False
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Attachment(Record):
    """A file of a message or of a draft."""

    id: AttachmentId
    holder_id: str
    name: str
    size_kb: int


@dataclass(frozen=True, slots=True)
class Draft(Record):
    """A message that is not sent; `thread_id` is empty for a new conversation."""

    id: DraftId
    thread_id: str
    to: tuple[str, ...]
    subject: str
    body: str
    saved_at: datetime


@dataclass(frozen=True, slots=True)
class Filter(Record):
    """A rule for mail that arrives after `created_at`; empty parts don't matter."""

    sender: str
    words: str
    folder: str
    label: str
    created_at: datetime
