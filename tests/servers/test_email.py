"""The mailbox: each of its error codes is reached; filters, blocks, undo and storage keep their promises."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from servers.email.model import Attachment, Contact, Draft, Email, Fault, Mailbox
from servers.email.rules import used_kb
from servers.kernel.session import EPOCH
from tests.servers.play import Play


def own(play: Play) -> str:
    return str(play.rows(Mailbox)[0].id)


def friend(play: Play) -> str:
    return next(
        str(c.id) for c in play.rows(Contact) if c.blocked_at is None and "example.com" in c.id and c.id != own(play)
    )


def blocked(play: Play) -> str:
    return next(str(c.id) for c in play.rows(Contact) if c.blocked_at is not None)


def mail(play: Play, folder: str = "inbox", person: bool = True) -> Email:
    return next(
        m
        for m in play.rows(Email)
        if m.folder == folder
        and m.touched
        and (m.sender.endswith("@example.com") or not person)
        and not m.labels
        and EPOCH - m.moved_at < timedelta(days=20)
        and next((c.blocked_at for c in play.rows(Contact) if c.id == m.sender), None) is None
    )


def new_draft(play: Play, **changes: object) -> str:
    arguments = {"recipients": [friend(play)], "subject": "Hello", "body": "Are you there?", **changes}
    return str(play.ok("draft_email", **arguments)["id"])


def send(play: Play, **changes: object) -> str:
    return str(play.ok("send_draft", draft_id=new_draft(play), **changes)["id"])


def attach(play: Play, draft: str, name: str = "", size: int = 0) -> dict[str, str]:
    """Arguments that attach a file whose name ends so, and that has at least this size."""
    holders = {m.id for m in play.rows(Email) if m.sent_at < EPOCH and m.folder != "trash"}
    file = next(
        f for f in play.rows(Attachment) if f.holder_id in holders and f.name.endswith(name) and f.size_kb >= size
    )
    return {"draft_id": draft, "attachment_id": file.id}


def files_of(play: Play, email: Email) -> list[Attachment]:
    return [f for f in play.rows(Attachment) if f.holder_id == email.id]


def forwardable(play: Play) -> list[Email]:
    return [m for m in play.rows(Email) if m.folder in ("inbox", "archive", "sent") and m.touched]


def email_purged(play: Play) -> None:
    trashed = mail(play)
    play.ok("move_email", email_id=trashed.id, folder="trash")
    play.wait(days=29)
    play.ok("get_email", email_id=trashed.id)
    play.wait(days=2)
    play.fails("email_purged", "move_email", email_id=trashed.id, folder="inbox")


def in_trash(play: Play) -> None:
    trashed = mail(play, "trash")
    play.fails("in_trash", "draft_reply", email_id=trashed.id, body="Yes")
    play.ok("move_email", email_id=trashed.id, folder="inbox")
    play.ok("draft_reply", email_id=trashed.id, body="Yes")


def in_spam(play: Play) -> None:
    play.fails("in_spam", "draft_forward", email_id=mail(play, "spam", person=False).id, recipients=[friend(play)])


def sent_is_final(play: Play) -> None:
    sent = next(m for m in play.rows(Email) if m.folder == "sent")
    play.fails("sent_is_final", "move_email", email_id=sent.id, folder="trash")
    play.fails("sent_is_final", "mark_email", email_id=sent.id, mark="unread")


def not_sent_yet(play: Play) -> None:
    waiting = send(play, send_at="2026-03-04T10:00:00Z")
    play.fails("not_sent_yet", "move_email", email_id=waiting, folder="archive")
    play.wait(days=3)
    play.fails("sent_is_final", "move_email", email_id=waiting, folder="archive")


def not_yours(play: Play) -> None:
    play.fails("not_yours", "undo_send_email", email_id=mail(play).id)


def undo_window_over(play: Play) -> None:
    sent = send(play)
    play.wait(minutes=15)
    play.fails("undo_window_over", "undo_send_email", email_id=sent)


def invalid_address(play: Play) -> None:
    play.fails("invalid_address", "draft_email", recipients=["not an address"], subject="x", body="y")


def no_reply_address(play: Play) -> None:
    machine = next(m for m in play.rows(Email) if m.sender.startswith("noreply@") and m.sent_at < EPOCH)
    play.fails("no_reply_address", "draft_reply", email_id=machine.id, body="Hello?")


def recipient_blocked(play: Play) -> None:
    play.fails("recipient_blocked", "draft_email", recipients=[blocked(play)], subject="x", body="y")
    draft = new_draft(play)
    play.ok("change_sender_block", email=friend(play), action="block")
    target = play.session.table(Draft).get(draft)
    assert target is not None
    play.fails("recipient_blocked", "send_draft", draft_id=draft)
    play.ok("change_sender_block", email=target.to[0], action="unblock")
    play.ok("send_draft", draft_id=draft)


def draft_empty(play: Play) -> None:
    play.fails("draft_empty", "send_draft", draft_id=next(d.id for d in play.rows(Draft) if not d.body))


def send_time_past(play: Play) -> None:
    play.fails("send_time_past", "send_draft", draft_id=new_draft(play), send_at="2026-03-01T09:00:00Z")


def send_time_too_far(play: Play) -> None:
    play.fails("send_time_too_far", "send_draft", draft_id=new_draft(play), send_at="2028-03-01T09:00:00Z")


def daily_send_limit_reached(play: Play) -> None:
    for _ in range(play.ok("get_mailbox_usage")["sends_left_today"]):
        send(play)
    play.fails("daily_send_limit_reached", "send_draft", draft_id=new_draft(play))
    send(play, send_at="2026-03-03T09:00:00Z")


def already_attached(play: Play) -> None:
    arguments = attach(play, new_draft(play), "pdf")
    assert play.ok("attach_to_draft", **arguments)["attachments"] == 1
    play.fails("already_attached", "attach_to_draft", **arguments)


def attachment_refused(play: Play) -> None:
    play.fails("attachment_refused", "attach_to_draft", **attach(play, new_draft(play), ".exe"))
    holder = next(m for m in forwardable(play) if any(f.name.endswith(".exe") for f in files_of(play, m)))
    draft = play.ok("draft_forward", email_id=holder.id, recipients=[friend(play)])["id"]
    assert ".exe" in play.fails("attachment_refused", "send_draft", draft_id=draft)


def large_files(play: Play) -> list[str]:
    holders = {m.id for m in play.rows(Email) if m.sent_at < EPOCH and m.folder != "trash"}
    files = [f for f in play.rows(Attachment) if f.holder_id in holders and not f.name.endswith(".exe")]
    return [f.id for f in sorted(files, key=lambda f: -f.size_kb)]


def attachments_too_large(play: Play) -> None:
    draft, (first, second, *_) = new_draft(play), large_files(play)
    play.ok("attach_to_draft", draft_id=draft, attachment_id=first)
    play.fails("attachments_too_large", "attach_to_draft", draft_id=draft, attachment_id=second)


def storage_full(play: Play) -> None:
    box, largest = play.rows(Mailbox)[0], large_files(play)[0]
    size = next(f.size_kb for f in play.rows(Attachment) if f.id == largest)
    while used_kb(play.session) + size + 2 <= box.quota_kb:
        play.ok("attach_to_draft", draft_id=new_draft(play), attachment_id=largest)
    play.fails("storage_full", "attach_to_draft", draft_id=new_draft(play), attachment_id=largest)


def label_not_set(play: Play) -> None:
    play.fails("label_not_set", "label_email", email_id=mail(play).id, label="Travel", action="remove")


def too_many_labels(play: Play) -> None:
    target = mail(play).id
    for label in ("Work", "Family", "Finance"):
        play.ok("label_email", email_id=target, label=label)
    play.fails("too_many_labels", "label_email", email_id=target, label="Travel")


def own_address(play: Play) -> None:
    play.fails("own_address", "change_sender_block", email=own(play))


def already_blocked(play: Play) -> None:
    play.fails("already_blocked", "change_sender_block", email=blocked(play))


def not_blocked(play: Play) -> None:
    play.fails("not_blocked", "change_sender_block", email=friend(play), action="unblock")


def filter_without_condition(play: Play) -> None:
    play.fails("filter_without_condition", "create_email_filter", folder="archive")


def filter_without_effect(play: Play) -> None:
    play.fails("filter_without_effect", "create_email_filter", words="rent")


def filter_exists(play: Play) -> None:
    play.ok("create_email_filter", words="rent", folder="archive")
    play.fails("filter_exists", "create_email_filter", words="rent", folder="archive")


def too_many_filters(play: Play) -> None:
    for n in range(10 - play.ok("get_mailbox_usage")["filters"]):
        play.ok("create_email_filter", words=f"topic{n}", folder="archive")
    play.fails("too_many_filters", "create_email_filter", words="rent", label="Work")


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", list(Fault))
def test_fault(fault: str) -> None:
    FAULTS[fault](Play("email"))


def arriving(play: Play) -> Email:
    quiet = {c.id for c in play.rows(Contact) if c.blocked_at is None}
    return next(
        m for m in play.rows(Email) if m.sent_at > EPOCH + timedelta(hours=1) and not m.touched and m.sender in quiet
    )


def folder_of(play: Play, email: Email) -> str:
    found = play.ok("list_emails", query=email.subject, limit=50)["items"]
    return next((str(row["folder"]) for row in found if row["id"] == email.id), "")


def test_mail_arrives_in_its_time() -> None:
    play = Play("email")
    coming = arriving(play)
    play.fails("not_found", "get_email", email_id=coming.id)
    assert folder_of(play, coming) == ""
    play.wait(minutes=(coming.sent_at - EPOCH).total_seconds() / 60)
    assert play.ok("get_email", email_id=coming.id)["unread"]
    assert folder_of(play, coming) == "inbox"


def test_blocks_and_filters_sort_what_arrives_later_and_nothing_else() -> None:
    for tool, extra, place in (
        ("change_sender_block", {"email": "{}"}, "spam"),
        ("create_email_filter", {"sender": "{}", "folder": "archive"}, "archive"),
    ):
        play = Play("email")
        coming, present = arriving(play), mail(play)
        play.ok(tool, **{key: value.format(coming.sender) for key, value in extra.items()})
        play.wait(minutes=(coming.sent_at - EPOCH).total_seconds() / 60)
        assert folder_of(play, coming) == place and folder_of(play, present) == "inbox"
        play.ok("move_email", email_id=coming.id, folder="inbox")
        assert folder_of(play, coming) == "inbox"


def test_undo_gives_back_the_same_draft_with_its_files() -> None:
    play = Play("email")
    draft = new_draft(play)
    before = play.ok("attach_to_draft", **attach(play, draft, "pdf"))
    sent = play.ok("send_draft", draft_id=draft)
    assert sent["folder"] == "sent" and draft not in {row.id for row in play.rows(Draft)}
    after = play.ok("undo_send_email", email_id=sent["id"])
    assert {**after, "id": ""} == {**before, "id": ""}
    bodies = {row.id: row.body for row in play.rows(Draft)}
    assert bodies[after["id"]] == "Are you there?"
    assert sent["id"] not in {row.id for row in play.rows(Email)}


def test_sent_mail_is_append_only() -> None:
    play = Play("email")
    kept = {
        m.id: (m.subject, m.body, m.to)
        for m in play.rows(Email)
        if m.folder == "sent" and m.sent_at < EPOCH - timedelta(minutes=11)
    }
    for key in kept:
        play.fails("undo_window_over", "undo_send_email", email_id=key)
        play.fails("sent_is_final", "move_email", email_id=key, folder="archive")
    assert {m.id: (m.subject, m.body, m.to) for m in play.rows(Email) if m.id in kept} == kept


def test_sending_keeps_the_storage_and_purging_frees_it() -> None:
    play = Play("email")
    draft = new_draft(play)
    play.ok("attach_to_draft", **attach(play, draft, size=1000))
    full = used_kb(play.session)
    play.ok("send_draft", draft_id=draft)
    assert used_kb(play.session) == full
    trashed = next(m for m in play.rows(Email) if m.id == mail(play).id)
    play.ok("move_email", email_id=trashed.id, folder="trash")
    assert used_kb(play.session) == full


def test_a_thread_is_one_conversation() -> None:
    play = Play("email")
    answer = play.ok("draft_reply", email_id=mail(play).id, body="Yes", reply_all=True)
    sent = play.ok("send_draft", draft_id=answer["id"])
    thread = play.ok("get_email", email_id=sent["id"])["thread_id"]
    items = play.ok("list_emails", thread_id=thread, limit=50)["items"]
    assert {sent["id"], mail(play).id} <= {row["id"] for row in items}
    assert own(play) not in answer["to"]


def test_unblocking_leaves_in_spam_what_came_meanwhile() -> None:
    play = Play("email")
    coming = arriving(play)
    play.ok("change_sender_block", email=coming.sender)
    play.wait(minutes=(coming.sent_at - EPOCH).total_seconds() / 60)
    play.ok("change_sender_block", email=coming.sender, action="unblock")
    assert folder_of(play, coming) == "spam"


def test_a_plain_list_leaves_out_what_is_not_read_every_day() -> None:
    play = Play("email")
    aside = {"scheduled", "spam", "trash"}
    rows = play.ok("list_emails", limit=50)["items"]
    assert rows and not aside & {row["folder"] for row in rows}
    for folder in aside:
        hidden = play.ok("list_emails", folder=folder)["items"][0]
        searched = {"query": hidden["subject"], "limit": 50}
        assert hidden["id"] in {row["id"] for row in play.ok("list_emails", **searched)["items"]}
        thread = play.ok("get_email", email_id=hidden["id"])["thread_id"]
        assert hidden["id"] in {row["id"] for row in play.ok("list_emails", thread_id=thread)["items"]}


def test_undo_takes_off_the_signature_that_was_sent() -> None:
    play = Play("email")
    sent = send(play)
    play.ok("set_email_signature", text="Somebody else's words")
    draft = play.ok("undo_send_email", email_id=sent)["id"]
    assert next(row.body for row in play.rows(Draft) if row.id == draft) == "Are you there?"
