"""The rules of writing: volumes, quotas, locks, and how nodes are made, moved, copied and removed."""

from __future__ import annotations

from dataclasses import replace

from servers.filesystem.model import Fault, Kind, Node, Shell, TrashItem, User, Volume
from servers.filesystem.paths import (
    MAX_PATH,
    Place,
    check_right,
    join,
    locate,
    may,
    me,
    missing,
    name_of,
    parent_of,
    shell_of,
    subtree,
    text_file,
    within,
)
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown

FILE_MODE = 0o644
DIRECTORY_MODE = 0o755
STICKY = 0o1000
MAX_FILE = 20_000
"""Largest text file that the tools write, in bytes."""


def volume_of(session: Session, path: str) -> Volume:
    """The volume on which a path lies: the mount point nearest above it."""
    return max((v for v in session.table(Volume).all() if within(path, v.id)), key=lambda v: len(v.id))


def used_bytes(session: Session, volume: Volume) -> int:
    """Bytes of all files on a volume."""
    below = [other.id for other in session.table(Volume).all() if other != volume and within(other.id, volume.id)]
    nodes = session.table(Node).all()
    return sum(n.size for n in nodes if within(n.id, volume.id) and not any(within(n.id, mount) for mount in below))


def owned_bytes(session: Session, user: User) -> int:
    """Bytes of all files that an account owns, those in the trash included."""
    return sum(node.size for node in session.table(Node).where(owner=user.id))


def check_writable(session: Session, path: str) -> None:
    """Refuse to change anything on a read-only volume."""
    volume = volume_of(session, path)
    if volume.read_only:
        raise ToolError(
            Fault.READ_ONLY_VOLUME,
            f"{volume.id} ({volume.label}) is mounted read-only; copy_path takes files from it to another volume.",
        )


def check_volume_space(session: Session, path: str, extra: int) -> None:
    """Refuse to put more bytes on a volume than fit."""
    volume = volume_of(session, path)
    free = max(volume.capacity - used_bytes(session, volume), 0)
    if extra > free:
        raise ToolError(
            Fault.VOLUME_FULL,
            f"{volume.id} has {free} bytes free and {extra} are needed; list_volumes shows free space.",
        )


def check_quota(session: Session, user: User, extra: int) -> None:
    """Refuse to let an account own more bytes than its quota."""
    free = max(user.quota - owned_bytes(session, user), 0)
    if extra > free:
        raise ToolError(
            Fault.QUOTA_EXCEEDED,
            f"{user.id} has {free} bytes of quota left and {extra} are needed; delete files or empty_file_trash first.",
        )


def check_unlocked(session: Session, node: Node) -> None:
    """Refuse to change a file that somebody else holds open."""
    if node.locked_until is not None and session.now < node.locked_until and node.locked_by != me(session).id:
        raise ToolError(
            Fault.FILE_LOCKED,
            f"{node.locked_by} has {shown(node.id)} open until {node.locked_until:%Y-%m-%d %H:%M} UTC; wait.",
        )


def check_parent(session: Session, place: Place) -> Node:
    """The directory that is to get a new name, if the user may write there."""
    parent = session.table(Node).get(place.parent)
    if parent is None:
        raise missing(session, place.parent)
    if len(place.path) > MAX_PATH:
        raise ToolError(Fault.NAME_TOO_LONG, f"A whole path has at most {MAX_PATH} characters; use shorter names.")
    check_writable(session, place.path)
    check_right(session, parent, "write")
    return parent


def check_free(place: Place) -> None:
    """Refuse a path that is taken."""
    if place.node is not None:
        raise ToolError(
            Fault.PATH_EXISTS, f"{shown(place.path)} exists already as a {place.node.kind}; choose another name."
        )


def check_removable(session: Session, node: Node) -> None:
    """Refuse to take a node away from where it is, with all that lies below."""
    path = node.id
    if path == "/" or session.table(Volume).get(path) is not None:
        raise ToolError(Fault.DIRECTORY_IN_USE, f"{path} is a mount point and stays; choose something inside it.")
    if within(shell_of(session).cwd, path):
        raise ToolError(
            Fault.DIRECTORY_IN_USE,
            f"{shown(path)} holds the working directory; change_directory to {shown(node.parent)} first.",
        )
    check_writable(session, path)
    parent = session.table(Node).require(node.parent, "list_directory shows what exists.")
    check_right(session, parent, "write")
    user = me(session)
    if parent.mode & STICKY and user.id not in (node.owner, parent.owner, "root"):
        raise ToolError(
            Fault.NOT_OWNER, f"In {parent.id} only {node.owner} may move or remove {shown(path)}; copy_path it instead."
        )
    for inner in subtree(session, node):
        check_unlocked(session, inner)
        if inner.kind == "directory" and inner.id != path:
            check_right(session, inner, "write")


def make(
    session: Session, place: Place, kind: Kind, content: str = "", target: str = "", size: int | None = None
) -> Node:
    """Create a node at a free path, owned by the logged-in user and the directory's group."""
    check_free(place)
    parent = check_parent(session, place)
    user = me(session)
    length = len(content.encode()) if size is None else size
    check_volume_space(session, place.path, length)
    check_quota(session, user, length)
    mode = {"directory": DIRECTORY_MODE, "file": FILE_MODE, "link": 0o777}[kind]
    group = parent.group if parent.group in user.groups else user.groups[0]
    row = Node(place.path, parent.id, kind, user.id, group, mode, session.now, content, length, True, target)
    return session.table(Node).add(row)


def set_text(session: Session, node: Node, content: str) -> Node:
    """Give a text file new content."""
    check_writable(session, node.id)
    check_right(session, node, "write")
    check_unlocked(session, node)
    size = len(content.encode())
    if size > MAX_FILE:
        raise ToolError(
            Fault.FILE_TOO_LARGE, f"A text file holds at most {MAX_FILE} bytes; put the rest into another file."
        )
    check_volume_space(session, node.id, size - node.size)
    check_quota(session, session.table(User).get(node.owner) or me(session), size - node.size)
    return session.table(Node).put(replace(node, content=content, size=size, modified_at=session.now))


def editable(session: Session, text: str) -> Node:
    """The text file at a path, if the user may read and write it."""
    node = text_file(session, text)
    check_writable(session, node.id)
    check_right(session, node, "write")
    check_unlocked(session, node)
    return node


def remove_tree(session: Session, node: Node) -> int:
    """Delete a node and all below it; returns how many nodes went."""
    gone = subtree(session, node)
    for inner in gone:
        session.table(Node).remove(inner.id)
    return len(gone)


def transplant(session: Session, node: Node, path: str, parent: str) -> int:
    """Give a node and all below it new paths; returns how many nodes moved."""
    table, old = session.table(Node), node.id
    moved = subtree(session, node)
    for inner in moved:
        table.remove(inner.id)
        above = parent if inner.id == old else path + inner.parent[len(old) :]
        table.add(replace(inner, id=path + inner.id[len(old) :], parent=above))
    return len(moved)


def landing(session: Session, source: Node, destination: str, overwrite: bool) -> Place:
    """Where a copy or move ends: inside an existing directory, else at the path itself.

    An existing file there is removed when it may be overwritten.
    """
    place = locate(session, destination)
    if place.node is not None and place.node.kind == "directory":
        path = join(place.path, name_of(source.id))
        place = Place(path, session.table(Node).get(path))
    if place.path == source.id:
        raise ToolError(Fault.SAME_PATH, f"{shown(source.id)} is there already; give another destination.")
    if source.kind == "directory" and within(place.path, source.id):
        raise ToolError(
            Fault.INTO_ITSELF, f"{shown(source.id)} can't go into its own subdirectory; give a destination outside it."
        )
    if place.node is None:
        return place
    if place.node.kind == "directory" or source.kind == "directory":
        raise ToolError(
            Fault.PATH_EXISTS, f"{shown(place.path)} exists and a directory is never overwritten; choose another name."
        )
    if not overwrite:
        raise ToolError(
            Fault.PATH_EXISTS, f"{shown(place.path)} exists; set overwrite to replace it, or choose another name."
        )
    check_removable(session, place.node)
    session.table(Node).remove(place.path)
    return Place(place.path, None)


def move(session: Session, source: Node, destination: str, overwrite: bool) -> Place:
    """Move a node with all below it; its owner and mode stay as they are."""
    check_removable(session, source)
    place = landing(session, source, destination, overwrite)
    check_parent(session, place)
    if volume_of(session, place.path) != volume_of(session, source.id):
        check_volume_space(session, place.path, sum(inner.size for inner in subtree(session, source)))
    transplant(session, source, place.path, place.parent)
    return place


def copy(session: Session, source: Node, destination: str, overwrite: bool) -> tuple[Place, int]:
    """Copy a node with all below it; the copies belong to the logged-in user."""
    user = me(session)
    inner_nodes = subtree(session, source)
    for inner in inner_nodes:
        if inner.kind != "link":
            check_right(session, inner, "read")
    place = landing(session, source, destination, overwrite)
    check_parent(session, place)
    total = sum(inner.size for inner in inner_nodes)
    check_volume_space(session, place.path, total)
    check_quota(session, user, total)
    for inner in inner_nodes:
        path = place.path + inner.id[len(source.id) :]
        session.table(Node).add(
            replace(
                inner,
                id=path,
                parent=parent_of(path),
                owner=user.id,
                group=user.groups[0],
                mode=inner.mode & 0o777,
                modified_at=session.now,
                locked_by="",
                locked_until=None,
            )
        )
    return place, len(inner_nodes)


def throw_away(session: Session, node: Node) -> TrashItem:
    """Move a node with all below it into the logged-in user's trash."""
    item = TrashItem(session.new_id("TRSH"), node.id, me(session).id, session.now)
    transplant(session, node, f"trash:{item.id}", "trash:")
    return session.table(TrashItem).add(item)


def access_of(user: User, node: Node) -> str:
    """What an account may do with a node, as in `read, write`."""
    rights = [right for right in ("read", "write", "execute") if may(user, node, right)]
    return ", ".join(rights) or "none"


def go(session: Session, path: str) -> Shell:
    """Make a directory the working directory."""
    return session.table(Shell).put(replace(shell_of(session), cwd=path))
