"""Tools that make, copy, move and delete paths."""

from __future__ import annotations

from servers.filesystem.changes import check_removable, copy, make, move, remove_tree
from servers.filesystem.model import Fault, Path, Pattern
from servers.filesystem.paths import children, directory, existing, locate
from servers.filesystem.server import server
from servers.filesystem.tools_look import matching
from servers.filesystem.views import Deleted, Moved, Written
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown

DEEPEST = 24


@server.tool()
def create_directory(session: Session, path: Path, parents: bool = False) -> Written:
    """Create a new directory, with those above it if parents is set.

    Args:
        path: the new directory.
        parents: also create missing directories above it.

    Raises:
        path_exists: something has that name already.
        not_a_directory: a part of the path is a file.
        permission_denied: the directory above may not be written.
        read_only_volume: nothing on the volume may be changed.
        name_too_long: a name has more than 255 bytes.
        invalid_path: too many levels, or control characters.
    """
    if parents and "/" in path.rstrip("/"):
        tops = path.rstrip("/").split("/")
        if len(tops) > DEEPEST:
            raise ToolError(Fault.INVALID_PATH, f"A new path has at most {DEEPEST} levels; make it shallower.")
        for depth in range(1, len(tops)):
            above = "/".join(tops[:depth])
            if above and locate(session, above).node is None:
                make(session, locate(session, above), "directory")
    return Written(make(session, locate(session, path), "directory").id, 0)


@server.tool()
def create_symbolic_link(session: Session, target_path: Path, link_path: Path) -> Written:
    """Create a symbolic link that points to an existing path.

    Args:
        target_path: where the link leads.
        link_path: the new link; inside it if this is an existing directory.

    Raises:
        path_exists: something has that name already.
        permission_denied: the directory may not be written.
        read_only_volume: nothing on the volume may be changed.
    """
    target = existing(session, target_path)
    place = locate(session, link_path, follow=False)
    if place.node is not None and place.node.kind == "directory":
        place = locate(session, f"{place.path}/{target.id.rpartition('/')[2]}", follow=False)
    return Written(make(session, place, "link", target=target.id).id, 0)


@server.tool()
def copy_path(
    session: Session, source_path: Path, destination_path: Path, recursive: bool = False, overwrite: bool = False
) -> Moved:
    """Copy a file, or with recursive a directory; into the destination if that is a directory.

    Args:
        source_path: what to copy.
        destination_path: an existing directory, or the new name.
        recursive: needed to copy a directory.
        overwrite: whether an existing file may be replaced.

    Raises:
        is_a_directory: the source is a directory and recursive is not set.
        path_exists: the destination is taken.
        same_path: source and destination are one.
        into_itself: a directory can't be copied into itself.
        permission_denied: the source may not be read or the destination not be written.
        not_owner: in a shared directory such as /tmp only the owner replaces a file.
        file_locked: somebody else has open what would be replaced.
        read_only_volume: nothing on the volume may be changed.
        volume_full: the volume has too little room.
        quota_exceeded: the user owns too many bytes already.
    """
    source = existing(session, source_path)
    if source.kind == "directory" and not recursive:
        raise ToolError(Fault.IS_A_DIRECTORY, f"{shown(source.id)} is a directory; set recursive to copy it.")
    place, count = copy(session, source, destination_path, overwrite)
    return Moved(place.path, count)


@server.tool()
def move_path(session: Session, source_path: Path, destination_path: Path, overwrite: bool = False) -> Moved:
    """Move or rename a file or directory; into the destination if that is a directory.

    Args:
        source_path: what to move.
        destination_path: an existing directory, or the new name.
        overwrite: whether an existing file may be replaced.

    Raises:
        path_exists: the destination is taken.
        same_path: source and destination are one.
        into_itself: a directory can't be moved into itself.
        directory_in_use: it is a mount point or holds the working directory.
        permission_denied: one of the directories may not be written.
        file_locked: somebody else has it open.
        read_only_volume: nothing on the volume may be changed.
        volume_full: the volume has too little room.
    """
    source = existing(session, source_path, follow=False)
    place = move(session, source, destination_path, overwrite)
    return Moved(place.path, 1)


@server.tool()
def move_matching_files(session: Session, source_path: Path, pattern: Pattern, destination_path: Path) -> Moved:
    """Move all files in a directory whose names fit a pattern into another directory.

    All of them move, or none.

    Args:
        source_path: the directory in which the files lie.
        pattern: the names, such as *.log or report-?.txt.
        destination_path: an existing directory.

    Raises:
        nothing_matched: no file in the directory fits.
        not_a_directory: source or destination is no directory.
        same_path: source and destination are one.
        path_exists: the destination holds such a name already.
        permission_denied: one of the directories may not be written.
        file_locked: somebody else has one of the files open.
    """
    source, target = directory(session, source_path), directory(session, destination_path)
    found = [node for node in matching(children(session, source.id), pattern) if node.kind == "file"]
    if not found:
        raise ToolError(
            Fault.NOTHING_MATCHED,
            f"No file in {shown(source.id)} fits {shown(pattern)}; list_directory shows its files.",
        )
    for node in found:
        move(session, node, target.id, overwrite=False)
    return Moved(target.id, len(found))


@server.tool(destructive=True)
def delete_path(session: Session, path: Path, recursive: bool = False) -> Deleted:
    """Delete a file, link or directory for good; trash_path can be undone, this can't.

    Args:
        path: what to delete; of a link only the link goes.
        recursive: needed to delete a directory that holds something.

    Raises:
        directory_not_empty: the directory holds something and recursive is not set.
        directory_in_use: it is a mount point or holds the working directory.
        permission_denied: the directory above may not be written.
        not_owner: in a shared directory such as /tmp only the owner deletes.
        file_locked: somebody else has it open.
        read_only_volume: nothing on the volume may be changed.
    """
    node = existing(session, path, follow=False)
    check_removable(session, node)
    inside = children(session, node.id)
    if inside and not recursive:
        raise ToolError(
            Fault.DIRECTORY_NOT_EMPTY,
            f"{shown(node.id)} holds {len(inside)} entries; set recursive to delete it with all below it.",
        )
    return Deleted(node.id, remove_tree(session, node))
