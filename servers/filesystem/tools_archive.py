"""Tools that pack and unpack archives."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.filesystem.changes import check_removable, make
from servers.filesystem.model import ArchiveEntry, Fault, Node, Path
from servers.filesystem.paths import (
    Place,
    check_right,
    directory,
    existing,
    file,
    join,
    locate,
    name_of,
    parent_of,
    subtree,
)
from servers.filesystem.server import server
from servers.filesystem.views import ArchiveMember, Moved, Packed
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.store import shown

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")


def entries_of(session: Session, path: str) -> list[ArchiveEntry]:
    """What an archive holds, by path."""
    node = file(session, path)
    if not node.bundle:
        raise ToolError(
            Fault.NOT_AN_ARCHIVE,
            f"{shown(node.id)} is no readable archive; find_files with *.zip or *.tar.gz shows some.",
        )
    return sorted(session.table(ArchiveEntry).where(bundle=node.bundle), key=lambda entry: entry.path)


@server.tool()
def create_archive(
    session: Session, archive_path: Path, paths: Annotated[list[Path], Field(min_length=1, max_length=8)]
) -> Packed:
    """Pack files and directories into a new archive; the originals stay.

    Args:
        archive_path: the new archive, ending in .zip, .tar, .tar.gz or .tgz.
        paths: what goes into it; directories with all below them.

    Raises:
        unsupported_archive: the name has another ending.
        path_exists: the archive exists, or two of the paths have the same name.
        permission_denied: something may not be read, or the directory not be written.
        read_only_volume: nothing on the volume may be changed.
        volume_full: the volume has too little room.
        quota_exceeded: the user owns too many bytes already.
    """
    if not archive_path.endswith(ENDINGS):
        raise ToolError(Fault.UNSUPPORTED_ARCHIVE, f"The name of an archive ends in one of {', '.join(ENDINGS)}.")
    place = locate(session, archive_path)
    tops = [existing(session, path) for path in paths]
    if len({name_of(top.id) for top in tops}) < len(tops):
        raise ToolError(Fault.PATH_EXISTS, "Two of the paths have the same name; pack them one by one.")
    bundle, total, count = session.new_id("ARCX"), 0, 0
    for top in tops:
        for node in subtree(session, top):
            if node.kind != "link":
                check_right(session, node, "read")
            count += 1
            total += node.size
            session.table(ArchiveEntry).add(pack(bundle, count, top, node))
    made = make(session, place, "file", bundle, size=22 + total * 6 // 10)
    session.table(Node).put(replace(made, text=False, bundle=bundle))
    return Packed(made.id, count, made.size)


def pack(bundle: str, number: int, top: Node, node: Node) -> ArchiveEntry:
    """One node as an entry, by its path from the packed one's parent."""
    path = (name_of(top.id) + node.id[len(top.id) :]).lstrip("/")
    key = f"{bundle}:{number}"
    return ArchiveEntry(
        id=key,
        bundle=bundle,
        path=path or "root",
        kind=node.kind,
        mode=node.mode & 0o777,
        content=node.content,
        size=node.size,
        text=node.text,
        target=node.target,
        inner_bundle=node.bundle,
    )


@server.tool(read_only=True)
def list_archive(
    session: Session,
    archive_path: Path,
    query: Query = "",
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[ArchiveMember]:
    """List what an archive holds without unpacking it. Ordered by name.

    Args:
        archive_path: the archive.
        query: words of the name inside the archive.
        limit: most entries to return.
        offset: how many to skip.

    Raises:
        not_an_archive: the file is no archive, or a damaged one.
        is_a_directory: the path is a directory.
    """
    found = search(entries_of(session, archive_path), query, lambda entry: entry.path)
    return paginate([ArchiveMember(entry.path, entry.kind, entry.size) for entry in found], limit, offset)


@server.tool()
def extract_archive(
    session: Session, archive_path: Path, destination_path: Path = ".", overwrite: bool = False
) -> Moved:
    """Unpack an archive into a directory, by default the working directory.

    Args:
        archive_path: the archive.
        destination_path: an existing directory.
        overwrite: whether existing files may be replaced.

    Raises:
        not_an_archive: the file is no archive, or a damaged one.
        path_exists: a file exists and overwrite is not set.
        not_a_directory: the destination is a file.
        permission_denied: the destination may not be written.
        not_owner: in a shared directory such as /tmp only the owner replaces a file.
        file_locked: somebody else has open what would be replaced.
        read_only_volume: nothing on the volume may be changed.
        volume_full: the volume has too little room.
        quota_exceeded: the user owns too many bytes already.
    """
    entries = entries_of(session, archive_path)
    target = directory(session, destination_path)
    for entry in entries:
        unpack(session, entry, target, overwrite)
    return Moved(target.id, len(entries))


def unpack(session: Session, entry: ArchiveEntry, target: Node, overwrite: bool) -> None:
    """Write one entry below a directory; directories merge, files replace only if they may."""
    nodes = session.table(Node)
    path = join(target.id, entry.path)
    parent, there = nodes.get(parent_of(path)), nodes.get(path)
    if parent is None or parent.kind != "directory":
        raise ToolError(
            Fault.NOT_A_DIRECTORY, f"{shown(parent_of(path))} is no directory; unpack into an empty directory."
        )
    if there is not None:
        if there.kind == entry.kind == "directory":
            return
        if not overwrite or there.kind == "directory" or entry.kind == "directory":
            raise ToolError(Fault.PATH_EXISTS, f"{shown(path)} exists; set overwrite or give another destination_path.")
        check_removable(session, there)
        nodes.remove(path)
    made = make(session, Place(path, None), entry.kind, entry.content, entry.target, entry.size)
    nodes.put(replace(made, mode=entry.mode, text=entry.text, bundle=entry.inner_bundle))
