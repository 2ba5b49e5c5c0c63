"""Tools of the trash: throw away, look, bring back, empty."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from servers.filesystem.changes import (
    check_free,
    check_parent,
    check_removable,
    check_volume_space,
    remove_tree,
    throw_away,
    transplant,
)
from servers.filesystem.model import Fault, Node, Path, TrashId, TrashItem
from servers.filesystem.paths import Place, existing, join, locate, me, name_of, subtree
from servers.filesystem.server import server
from servers.filesystem.views import Emptied, Moved, TrashSummary
from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.store import shown

TRASH_DAYS = 30


def top_of(session: Session, item: TrashItem) -> Node:
    """The node that was thrown away."""
    return session.table(Node).require(f"trash:{item.id}", "list_trashed_paths shows what is in the trash.")


def trash_of(session: Session) -> list[TrashItem]:
    """What the logged-in user threw away and can still bring back."""
    items = session.table(TrashItem).where(deleted_by=me(session).id)
    return [item for item in items if session.now <= item.deleted_at + timedelta(days=TRASH_DAYS)]


def size_of(session: Session, top: Node) -> int:
    """Bytes of all that was thrown away with a node."""
    return sum(node.size for node in subtree(session, top))


def summary(session: Session, item: TrashItem) -> TrashSummary:
    """An item as the list shows it."""
    top = top_of(session, item)
    size = size_of(session, top)
    return TrashSummary(item.id, item.original, top.kind, size, (item.deleted_at + timedelta(days=TRASH_DAYS)).date())


@server.tool()
def trash_path(session: Session, path: Path) -> TrashSummary:
    """Move a file or directory to the trash, from where it can be restored for 30 days.

    Args:
        path: what to throw away.

    Raises:
        directory_in_use: it is a mount point or holds the working directory.
        permission_denied: the directory above may not be written.
        file_locked: somebody else has it open.
        read_only_volume: nothing on the volume may be changed.
    """
    node = existing(session, path, follow=False)
    check_removable(session, node)
    return summary(session, throw_away(session, node))


@server.tool(read_only=True)
def list_trashed_paths(session: Session, query: Query = "", limit: Limit = 5, offset: Offset = 0) -> Page[TrashSummary]:
    """List what lies in your trash with the ids to restore it. Newest first, then by id.

    Args:
        query: words of the original path.
        limit: most items to return.
        offset: how many to skip.
    """
    items = search(trash_of(session), query, lambda item: item.original)
    items.sort(key=lambda item: (-item.deleted_at.timestamp(), item.id))
    return paginate([summary(session, item) for item in items], limit, offset)


@server.tool()
def restore_trashed_path(session: Session, trash_item_id: TrashId, destination_path: Path | None = None) -> Moved:
    """Bring something back from the trash, to where it was or into another directory.

    Args:
        trash_item_id: the item, from list_trashed_paths.
        destination_path: an existing directory or a new name; by default where it was.

    Raises:
        trash_expired: it was thrown away more than 30 days ago.
        not_owner: somebody else threw it away.
        path_exists: the path is taken.
        permission_denied: the directory may not be written.
        read_only_volume: nothing on the volume may be changed.
        volume_full: the volume has too little room.
        name_too_long: the path would become too long.
    """
    item = session.table(TrashItem).require(trash_item_id, "list_trashed_paths shows the valid ids.")
    if item.deleted_by != me(session).id:
        raise ToolError(Fault.NOT_OWNER, f"That is in the trash of {item.deleted_by}, who alone can restore it.")
    if item not in trash_of(session):
        raise ToolError(
            Fault.TRASH_EXPIRED,
            f"{shown(item.original)} was thrown away on {item.deleted_at:%Y-%m-%d} and kept for {TRASH_DAYS} days; "
            "list_trashed_paths shows what can be restored.",
        )
    place = destination(session, item, destination_path)
    check_free(place)
    check_parent(session, place)
    top = top_of(session, item)
    check_volume_space(session, place.path, size_of(session, top))
    count = transplant(session, top, place.path, place.parent)
    session.table(TrashItem).remove(item.id)
    return Moved(place.path, count)


def destination(session: Session, item: TrashItem, path: str | None) -> Place:
    """Where an item comes back."""
    try:
        place = locate(session, path or item.original, follow=path is not None)
    except ToolError as error:
        if path is None and error.code == KernelFault.NOT_FOUND:
            hint = "give a destination_path that exists, or create_directory first."
            raise ToolError(KernelFault.NOT_FOUND, f"The directory of {shown(item.original)} is gone; {hint}") from None
        raise
    if path is not None and place.node is not None and place.node.kind == "directory":
        inner = join(place.path, name_of(item.original))
        return Place(inner, session.table(Node).get(inner))
    return place


@server.tool(destructive=True)
def empty_file_trash(session: Session, older_than_days: Annotated[int, Field(ge=0, le=365)] = 0) -> Emptied:
    """Delete for good what lies in your trash, which frees quota.

    Args:
        older_than_days: only what was thrown away more than so many days ago.

    Raises:
        trash_empty: there is nothing so old in it.
    """
    until = session.now - timedelta(days=older_than_days)
    items = [i for i in session.table(TrashItem).where(deleted_by=me(session).id) if i.deleted_at <= until]
    if not items:
        raise ToolError(
            Fault.TRASH_EMPTY, "Nothing that old is in the trash; list_trashed_paths shows it, fewer days may match."
        )
    freed = sum(node.size for item in items for node in subtree(session, top_of(session, item)))
    for item in items:
        remove_tree(session, top_of(session, item))
        session.table(TrashItem).remove(item.id)
    return Emptied(len(items), freed)
