"""The file system: each error code is reached, no path escapes, and trees stay whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from servers.filesystem.model import Fault, Node, Shell, TrashItem, User
from servers.filesystem.tools_access import new_mode
from tests.servers.play import Play


def me(play: Play) -> User:
    name = play.rows(Shell)[0].user
    return next(row for row in play.rows(User) if row.id == name)


def account(play: Play, name: str) -> User:
    return next(row for row in play.rows(User) if row.id == name)


def colleague(play: Play, expired: bool = False) -> User:
    people = [row for row in play.rows(User) if row.id != me(play).id and "@" not in row.id]
    return next(row for row in people if (row.expires is not None) == expired)


def node(play: Play, path: str) -> Node | None:
    home = me(play).home
    return next((row for row in play.rows(Node) if row.id == path.replace("~", home)), None)


def log_in(play: Play, name: str) -> None:
    play.ok("switch_user", user_name=name, password=account(play, name).password)


def permission_denied(play: Play) -> None:
    secret = f"{colleague(play).home}/private.txt"
    message = play.fails("permission_denied", "read_file", path=secret)
    assert colleague(play).id in message
    play.fails("permission_denied", "write_file", path="/etc/new.conf", content="x")
    play.fails("permission_denied", "list_directory", path="/root")
    play.fails("permission_denied", "append_to_file", path="~/notes/keepsake.txt", text="more")
    log_in(play, colleague(play).id)
    assert play.ok("read_last_lines", path=secret)["lines"]


def not_owner(play: Play) -> None:
    play.fails("not_owner", "change_permissions", path="/etc/hosts.conf", mode="777")
    play.fails("not_owner", "change_owner", path="/etc/hosts.conf", owner=me(play).id)
    play.fails("not_owner", "delete_path", path="/tmp/session.log")
    over = {"source_path": "~/notes/todo.txt", "destination_path": "/tmp/session.log", "overwrite": True}
    play.fails("not_owner", "copy_path", **over)
    other = next(row for row in play.rows(TrashItem) if row.deleted_by != me(play).id)
    play.fails("not_owner", "restore_trashed_path", trash_item_id=other.id)


def not_group_member(play: Play) -> None:
    arguments = {"path": "~/notes/ideas.txt", "owner": "deploy", "group": "finance"}
    assert "staff" in play.fails("not_group_member", "change_owner", **arguments)


def path_exists(play: Play) -> None:
    play.fails("path_exists", "create_directory", path="~/notes")
    play.fails("path_exists", "write_file", path="~/notes/todo.txt", content="x")
    files = {"source_path": "~/notes/todo.txt", "destination_path": "~/notes/ideas.txt"}
    play.fails("path_exists", "move_path", **files)
    play.ok("move_path", **files, overwrite=True)
    play.fails("path_exists", "extract_archive", archive_path="~/archives/notes-backup.tar.gz")


def is_a_directory(play: Play) -> None:
    play.fails("is_a_directory", "read_file", path="~/notes")
    play.fails("is_a_directory", "copy_path", source_path="~/notes", destination_path="/tmp")


def not_a_directory(play: Play) -> None:
    play.fails("not_a_directory", "change_directory", path="~/notes/todo.txt")
    play.fails("not_a_directory", "read_file", path="~/notes/todo.txt/x")


def directory_not_empty(play: Play) -> None:
    play.fails("directory_not_empty", "delete_path", path="~/notes")
    play.ok("delete_path", path="~/empty-folder")


def directory_in_use(play: Play) -> None:
    play.ok("change_directory", path="~/documents/reports")
    play.fails("directory_in_use", "trash_path", path="~/documents")
    play.fails("directory_in_use", "delete_path", path="/mnt/usb", recursive=True)
    play.fails("directory_in_use", "delete_path", path="/", recursive=True)


def into_itself(play: Play) -> None:
    play.fails("into_itself", "move_path", source_path="~/projects", destination_path="~/projects/inner")
    play.fails("into_itself", "copy_path", source_path="~/notes", destination_path="~/notes", recursive=True)
    play.ok("copy_path", source_path="~/notes", destination_path="~/notes2", recursive=True)


def same_path(play: Play) -> None:
    play.fails("same_path", "move_path", source_path="~/notes/todo.txt", destination_path="~/notes")
    play.fails("same_path", "compare_files", path="~/notes/todo.txt", other_path="~/notes/../notes/todo.txt")


def outside_root(play: Play) -> None:
    play.fails("outside_root", "read_file", path="/../etc/hosts.conf")
    play.fails("outside_root", "change_directory", path="../" * 9)


def invalid_path(play: Play) -> None:
    play.fails("invalid_path", "read_file", path="notes\0todo.txt")
    play.fails("invalid_path", "read_file", path="%2e%2e/%2E%2e/etc")
    play.fails("invalid_path", "create_directory", path="a/" * 30, parents=True)


def name_too_long(play: Play) -> None:
    play.fails("name_too_long", "touch_file", path="~/" + "n" * 256)
    play.fails("invalid_arguments", "touch_file", path="n" * 5000)


def link_loop(play: Play) -> None:
    play.fails("link_loop", "read_file", path="~/loop-a")
    assert play.ok("get_path_info", path="~/loop-a")["target"] == "loop-b"


def broken_link(play: Play) -> None:
    assert "zephyr" in play.fails("broken_link", "read_file", path="~/old-project")


def read_only_volume(play: Play) -> None:
    play.fails("read_only_volume", "touch_file", path="/mnt/cold/2024/new.txt")
    play.fails("read_only_volume", "trash_path", path="/mnt/cold/2024/orders.csv")
    play.ok("copy_path", source_path="/mnt/cold/2024/orders.csv", destination_path="~")


def volume_full(play: Play) -> None:
    item = play.ok("trash_path", path="~/pictures/family")["id"]
    play.fails("volume_full", "restore_trashed_path", trash_item_id=item, destination_path="/mnt/usb")
    play.ok("restore_trashed_path", trash_item_id=item)
    log_in(play, me(play).id)
    play.ok("copy_path", source_path="~/music", destination_path="/tmp", recursive=True)
    root = account(play, "root")
    play.ok("switch_user", user_name="root", password=root.password)
    play.fails("volume_full", "copy_path", source_path="/tmp/music", destination_path="/mnt/usb", recursive=True)
    play.fails("volume_full", "write_file", path="/mnt/usb/big.txt", content="x" * 401)
    play.ok("write_file", path="/mnt/usb/small.txt", content="x" * 400)


def quota_exceeded(play: Play) -> None:
    for n in range(5):
        where = {"source_path": "~/pictures", "destination_path": f"/tmp/pictures{n}", "recursive": True}
        outcome = play.catalog.call(play.session, "copy_path", where)
        if not outcome.ok:
            break
    assert "empty_file_trash" in play.fails("quota_exceeded", "copy_path", **where)


def file_locked(play: Play) -> None:
    path = "~/documents/meeting-minutes.md"
    until = play.ok("get_path_info", path=path)["locked_until"]
    assert until[:10] in play.fails("file_locked", "append_to_file", path=path, text="late")
    play.fails("file_locked", "delete_path", path="~/documents", recursive=True)
    play.fails("file_locked", "write_file", path=path, content="x", overwrite=True)
    over = {"source_path": "~/notes/todo.txt", "destination_path": path, "overwrite": True}
    play.fails("file_locked", "copy_path", **over)
    play.wait(minutes=21)
    play.ok("append_to_file", path=path, text="late")
    assert "locked_until" not in play.ok("get_path_info", path=path)


def file_too_large(play: Play) -> None:
    play.ok("write_file", path="~/long.txt", content="line\n" * 700)
    play.fails("file_too_large", "read_file", path="~/long.txt")
    play.ok("read_first_lines", path="~/long.txt")
    play.fails("file_too_large", "compare_files", path="~/long.txt", other_path="~/notes/todo.txt")


def binary_file(play: Play) -> None:
    play.fails("binary_file", "read_file", path="~/pictures/avatar.png")
    play.fails("binary_file", "sort_file_lines", path="~/archives/scripts.zip")


def text_not_found(play: Play) -> None:
    arguments = {"path": "~/notes/todo.txt", "old_text": "no such words", "new_text": "x"}
    play.fails("text_not_found", "replace_in_file", **arguments)


def nothing_matched(play: Play) -> None:
    arguments = {"source_path": "~/notes", "pattern": "*.xyz", "destination_path": "/tmp"}
    play.fails("nothing_matched", "move_matching_files", **arguments)


def unsupported_archive(play: Play) -> None:
    play.fails("unsupported_archive", "create_archive", archive_path="~/a.rar", paths=["~/notes"])


def not_an_archive(play: Play) -> None:
    play.fails("not_an_archive", "list_archive", archive_path="~/downloads/broken-download.zip")


def trash_expired(play: Play) -> None:
    item = play.ok("list_trashed_paths", limit=50)["items"][-1]
    play.wait(days=31)
    play.fails("trash_expired", "restore_trashed_path", trash_item_id=item["id"])
    assert play.ok("list_trashed_paths")["total"] == 0


def trash_empty(play: Play) -> None:
    play.ok("empty_file_trash")
    play.fails("trash_empty", "empty_file_trash")


def wrong_password(play: Play) -> None:
    play.fails("wrong_password", "switch_user", user_name="root", password="guess")


def account_expired(play: Play) -> None:
    old = colleague(play, expired=True)
    play.fails("account_expired", "switch_user", user_name=old.id, password=old.password)
    play.fails("account_expired", "change_owner", path="~/notes/ideas.txt", owner=old.id)


FAULTS: dict[str, Callable[[Play], None]] = {
    name: scenario for name, scenario in globals().items() if name in set(Fault)
}


@pytest.mark.parametrize("fault", sorted(Fault))
def test_fault_is_reached(fault: str) -> None:
    FAULTS[fault](Play("filesystem"))


def test_every_path_lies_in_a_directory() -> None:
    play = Play("filesystem")
    play.wait(minutes=25)
    play.ok("copy_path", source_path="~/projects", destination_path="/tmp", recursive=True)
    play.ok("move_path", source_path="~/documents", destination_path="~/notes")
    play.ok("trash_path", path="~/notes/documents/reports")
    play.ok("create_directory", path="~/deep/er/still", parents=True)
    play.ok("extract_archive", archive_path="~/archives/scripts.zip", destination_path="~/deep/er/still")
    nodes = {row.id: row for row in play.rows(Node)}
    for row in nodes.values():
        if row.id != "/" and row.parent != "trash:":
            assert nodes[row.parent].kind == "directory"
            assert row.id.rpartition("/")[0] in (row.parent, "")
        assert row.kind != "file" or not row.text or row.size == len(row.content.encode())


def test_a_sibling_with_the_same_prefix_is_not_inside() -> None:
    play = Play("filesystem")
    play.wait(minutes=25)
    play.ok("create_directory", path="~/notes-old")
    play.ok("change_directory", path="~/notes-old")
    play.ok("trash_path", path="~/notes")
    assert node(play, "~/notes-old") is not None
    play.ok("move_path", source_path="~/documents", destination_path="~/documents-2026")


def test_moving_onto_a_directory_goes_inside() -> None:
    play = Play("filesystem")
    moved = play.ok("move_path", source_path="~/notes/todo.txt", destination_path="~/empty-folder")
    assert moved["path"].endswith("/empty-folder/todo.txt")
    renamed = play.ok("move_path", source_path="~/empty-folder/todo.txt", destination_path="~/done.txt")
    assert renamed["path"].endswith("/done.txt") and node(play, "~/notes/todo.txt") is None


def test_relative_paths_follow_the_working_directory() -> None:
    play = Play("filesystem")
    assert play.ok("change_directory", path="current")["path"].count("/projects/") == 1
    play.ok("write_file", path="new.txt", content="one\ntwo\n")
    assert play.ok("read_file", path="../../current/new.txt")["content"] == "one\ntwo\n"
    assert "new.txt" in play.ok("find_files", query="new.*", path=".")["items"][0]["path"]


def test_trash_and_back() -> None:
    play = Play("filesystem")
    before = {row.id: row for row in play.rows(Node)}
    item = play.ok("trash_path", path="~/projects")
    assert play.ok("list_trashed_paths", query="projects")["items"]
    play.fails("not_found", "list_directory", path="~/projects")
    play.ok("restore_trashed_path", trash_item_id=item["id"])
    assert {row.id: row for row in play.rows(Node)} == before


def test_emptying_the_trash_frees_quota() -> None:
    play = Play("filesystem")
    left = play.ok("list_system_users", query=me(play).id)["items"][0]["quota_left"]
    freed = play.ok("empty_file_trash")["freed_bytes"]
    assert play.ok("list_system_users", query=me(play).id)["items"][0]["quota_left"] == left + freed > left


def test_archive_round_trip() -> None:
    play = Play("filesystem")
    play.ok("create_archive", archive_path="~/n.zip", paths=["~/notes", "~/scripts"])
    play.ok("extract_archive", archive_path="~/n.zip", destination_path="/tmp")
    same = play.ok("compare_directories", path="~/notes", other_path="/tmp/notes")
    assert same["identical"]
    play.ok("append_to_file", path="/tmp/notes/todo.txt", text="more")
    changed = play.ok("compare_directories", path="~/notes", other_path="/tmp/notes")
    assert changed["different"] == ["todo.txt"]


def test_an_archive_in_an_archive_stays_whole() -> None:
    play = Play("filesystem")
    packed = play.ok("create_archive", archive_path="~/inner.zip", paths=["~/notes"])
    play.ok("create_archive", archive_path="~/outer.zip", paths=["~/inner.zip"])
    play.ok("delete_path", path="~/inner.zip")
    play.ok("extract_archive", archive_path="~/outer.zip", destination_path="~/empty-folder")
    assert play.ok("list_archive", archive_path="~/empty-folder/inner.zip")["total"] == packed["entries"]
    play.ok("extract_archive", archive_path="~/empty-folder/inner.zip", destination_path="~/empty-folder")
    assert play.ok("compare_directories", path="~/notes", other_path="~/empty-folder/notes")["identical"]


def test_who_is_over_the_quota_may_still_write_less() -> None:
    play = Play("filesystem")
    play.session.table(User).put(replace(me(play), quota=1))
    play.session.commit("arrange", {})
    play.ok("write_file", path="~/notes/ideas.txt", content="x", overwrite=True)
    play.ok("touch_file", path="~/notes/empty.txt")
    play.fails("quota_exceeded", "append_to_file", path="~/notes/ideas.txt", text="more")


def test_nobody_may_write_to_a_read_only_volume() -> None:
    play = Play("filesystem")
    access = play.ok("check_path_access", path="/mnt/cold/2024/orders.csv", user_name="root")
    assert (access["read"], access["write"]) == (True, False)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_system_users", {}),
        ("show_directory_tree", {"depth": 4}),
        ("find_duplicate_files", {"path": "~"}),
    ],
)
def test_pages_follow_one_another(tool: str, arguments: dict[str, str | int]) -> None:
    play = Play("filesystem")
    whole = play.ok(tool, limit=2, **arguments)["items"]
    first = play.ok(tool, limit=1, **arguments)
    assert play.ok(tool, limit=1, offset=first["next_offset"], **arguments)["items"] == whole[1:]


def test_unpacking_never_follows_a_link_out() -> None:
    play = Play("filesystem")
    play.ok("create_archive", archive_path="~/n.zip", paths=["~/notes"])
    play.ok("create_symbolic_link", target_path="~/documents", link_path="~/empty-folder/notes")
    play.fails(
        "path_exists", "extract_archive", archive_path="~/n.zip", destination_path="~/empty-folder", overwrite=True
    )


def test_giving_a_file_away_takes_the_right_to_change_it() -> None:
    play = Play("filesystem")
    play.ok("change_permissions", path="~/notes/ideas.txt", mode="600")
    assert play.ok("check_path_access", path="~/notes/ideas.txt", user_name="deploy")["read"] is False
    play.ok("change_owner", path="~/notes/ideas.txt", owner="deploy")
    play.fails("permission_denied", "read_file", path="~/notes/ideas.txt")
    assert play.ok("check_path_access", path="~/notes/ideas.txt", user_name="deploy")["read"] is True


@pytest.mark.parametrize(
    ("mode", "change", "result"),
    [
        (0o644, "600", 0o600),
        (0o644, "g+w", 0o664),
        (0o755, "go-x", 0o744),
        (0o777, "a=r", 0o444),
        (0o1777, "755", 0o1755),
    ],
)
def test_mode_changes(mode: int, change: str, result: int) -> None:
    assert new_mode(mode, change) == result


def test_missing_path_suggests_the_nearest_name() -> None:
    assert "'todo.txt'" in Play("filesystem").fails("not_found", "read_file", path="~/notes/tod.txt")
