"""Tools that say where one is and what is there."""

from __future__ import annotations

from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field

from servers.filesystem.changes import go, used_bytes
from servers.filesystem.model import Kind, Node, Path, Pattern, UserName, Volume
from servers.filesystem.paths import (
    children,
    directory,
    existing,
    file,
    may,
    me,
    mode_text,
    name_of,
    readable_subtree,
    shell_of,
    user_of,
)
from servers.filesystem.server import server
from servers.filesystem.views import (
    Duplicates,
    Match,
    PathInfo,
    PathSummary,
    TreeEntry,
    Usage,
    VolumeSummary,
    WorkingDirectory,
    summary,
)
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session

SHOWN_LINE = 80


def matching(nodes: list[Node], query: str) -> list[Node]:
    """Nodes whose name fits a pattern with `*` or `?`, or holds every word of the query."""
    if "*" in query or "?" in query:
        return [node for node in nodes if fnmatchcase(name_of(node.id).casefold(), query.casefold())]
    return search(nodes, query, lambda node: name_of(node.id))


@server.tool(read_only=True)
def get_working_directory(session: Session) -> WorkingDirectory:
    """Show the current working directory and who is logged in.

    Relative paths of every other tool start there.
    """
    shell = shell_of(session)
    return WorkingDirectory(shell.cwd, shell.user)


@server.tool(idempotent=True)
def change_directory(session: Session, path: Path) -> WorkingDirectory:
    """Change the working directory, from which relative paths start.

    Args:
        path: the directory to go to; `..` is the one above, `~` the home.

    Raises:
        not_a_directory: it is a file.
        permission_denied: the directory may not be entered.
        outside_root: `..` leads above the root.
        link_loop: a link on the way leads back to itself.
    """
    node = directory(session, path)
    return WorkingDirectory(go(session, node.id).cwd, me(session).id)


@server.tool(read_only=True)
def list_directory(
    session: Session,
    path: Path = ".",
    query: Query = "",
    kind: Kind | None = None,
    sort_by: Literal["name", "size", "newest"] = "name",
    show_hidden: bool = False,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[PathSummary]:
    """List what lies directly in a directory, by default the working directory.

    Ordered as asked, then by path.

    Args:
        path: the directory.
        query: words of the name, or a pattern such as *.txt.
        kind: only files, only directories or only links.
        sort_by: by name, largest first, or newest first.
        show_hidden: also show names that start with a dot.
        limit: most entries to return.
        offset: how many to skip.

    Raises:
        not_a_directory: it is a file.
        permission_denied: the directory may not be read.
    """
    nodes = matching(children(session, directory(session, path).id), query)
    nodes = [n for n in nodes if (show_hidden or not name_of(n.id).startswith(".")) and kind in (None, n.kind)]
    if sort_by == "size":
        nodes.sort(key=lambda node: (-node.size, node.id))
    elif sort_by == "newest":
        nodes.sort(key=lambda node: (-node.modified_at.timestamp(), node.id))
    return paginate([summary(node) for node in nodes], limit, offset)


@server.tool(read_only=True)
def show_directory_tree(
    session: Session,
    path: Path = ".",
    depth: Annotated[int, Field(ge=1, le=6)] = 2,
    limit: Limit = 10,
    offset: Offset = 0,
) -> Page[TreeEntry]:
    """Show the directories below a directory, with how much lies in each. Ordered by path.

    Args:
        path: the directory on top.
        depth: how many levels down to look.
        limit: most directories to return.
        offset: how many to skip.

    Raises:
        not_a_directory: it is a file.
    """
    top = directory(session, path)
    level = top.id.rstrip("/").count("/")
    below = [node for node in readable_subtree(session, top) if node.id.count("/") - level <= depth]
    entries = []
    for node in sorted((n for n in below if n.kind == "directory"), key=lambda n: n.id):
        kinds = [child.kind for child in children(session, node.id)]
        folders = kinds.count("directory")
        entries.append(TreeEntry(node.id, len(kinds) - folders, folders))
    return paginate(entries, limit, offset)


@server.tool(read_only=True)
def get_path_info(session: Session, path: Path) -> PathInfo:
    """Show one path's kind, size, owner, permissions, times, link target and lock.

    Args:
        path: the file, directory or link; a link itself is shown, not what it points to.

    Raises:
        permission_denied: a directory on the way is closed.
        not_a_directory: a part of the path is a file.
    """
    node = existing(session, path, follow=False)
    locked = node.locked_until if node.locked_until and session.now < node.locked_until else None
    return PathInfo(
        path=node.id,
        kind=node.kind,
        size=node.size,
        owner=node.owner,
        group=node.group,
        mode=mode_text(node.mode),
        modified_at=node.modified_at,
        target=node.target or None,
        locked_until=locked,
    )


@server.tool(read_only=True)
def find_files(
    session: Session,
    query: Query = "",
    path: Path = ".",
    kind: Kind | None = None,
    owner: UserName | None = None,
    min_size: Annotated[int, Field(ge=0)] = 0,
    modified_within_days: Annotated[int, Field(ge=1, le=3650)] | None = None,
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[PathSummary]:
    """Find files at any depth by name, size, owner or age. Ordered by path.

    Args:
        query: words of the name, or a pattern such as *.log.
        path: the directory to search, with all below it.
        kind: only files, only directories or only links.
        owner: only what this user owns.
        min_size: only what has at least so many bytes.
        modified_within_days: only what changed in the last so many days.
        limit: most paths to return.
        offset: how many to skip.

    Raises:
        not_a_directory: the path is a file.
    """
    top = directory(session, path)
    if owner is not None:
        user_of(session, owner)
    since = session.now - timedelta(days=modified_within_days or 36_500)
    nodes = matching(readable_subtree(session, top, hidden=query.startswith(".")), query)
    nodes = [
        node
        for node in nodes
        if kind in (None, node.kind)
        and owner in (None, node.owner)
        and node.size >= min_size
        and node.modified_at >= since
    ]
    return paginate([summary(node) for node in sorted(nodes, key=lambda node: node.id)], limit, offset)


@server.tool(read_only=True)
def search_in_files(
    session: Session,
    query: Pattern,
    path: Path = ".",
    name_pattern: Pattern = "*",
    limit: Limit = 5,
    offset: Offset = 0,
) -> Page[Match]:
    """Search the text of files for a phrase and show the lines that hold it.

    Upper and lower case are alike. Ordered by path, then line.

    Args:
        query: the phrase to look for.
        path: the directory to search with all below it, or one file.
        name_pattern: only files whose name fits, such as *.md.
        limit: most lines to return.
        offset: how many to skip.

    Raises:
        permission_denied: the path may not be read.
    """
    top = existing(session, path)
    nodes = [file(session, path)] if top.kind == "file" else readable_subtree(session, directory(session, path))
    wanted = query.casefold()
    found = [
        Match(node.id, number, line.strip()[:SHOWN_LINE])
        for node in readable_texts(session, matching(nodes, name_pattern))
        for number, line in enumerate(node.content.splitlines(), 1)
        if wanted in line.casefold()
    ]
    return paginate(sorted(found, key=lambda match: (match.path, match.line)), limit, offset)


def readable_texts(session: Session, nodes: list[Node]) -> list[Node]:
    """The text files among some nodes that the user may read."""
    user = me(session)
    return [node for node in nodes if node.kind == "file" and node.text and may(user, node, "read")]


@server.tool(read_only=True)
def get_disk_usage(session: Session, path: Path = ".") -> Usage:
    """Add up what a directory with all below it takes up, and name its largest file.

    Args:
        path: the directory, by default the working directory.

    Raises:
        not_a_directory: it is a file.
    """
    top = directory(session, path)
    nodes = readable_subtree(session, top, hidden=True)
    files = [node for node in nodes if node.kind == "file"]
    largest = max(files, key=lambda node: (node.size, node.id), default=None)
    return Usage(
        path=top.id,
        bytes=sum(node.size for node in files),
        files=len(files),
        directories=sum(node.kind == "directory" for node in nodes),
        largest_file=largest.id if largest else None,
    )


@server.tool(read_only=True)
def find_duplicate_files(session: Session, path: Path = ".", limit: Limit = 5, offset: Offset = 0) -> Page[Duplicates]:
    """Find files below a directory that have the same content. Largest first, then by path.

    Args:
        path: the directory to search with all below it.
        limit: most groups to return.
        offset: how many to skip.

    Raises:
        not_a_directory: it is a file.
    """
    user = me(session)
    groups: dict[tuple[str, int], list[Node]] = {}
    for node in readable_subtree(session, directory(session, path)):
        if node.kind == "file" and node.size and may(user, node, "read"):
            groups.setdefault((node.content, node.size), []).append(node)
    found = [Duplicates(group[0].size, sorted(n.id for n in group)) for group in groups.values() if len(group) > 1]
    return paginate(sorted(found, key=lambda group: (-group.size, group.paths)), limit, offset)


@server.tool(read_only=True)
def list_volumes(session: Session, query: Query = "") -> Page[VolumeSummary]:
    """List the mounted volumes with their free space and which are read-only. Ordered by path.

    Args:
        query: words of the label or path.
    """
    rows = search(session.table(Volume).all(), query, lambda volume: f"{volume.id} {volume.label}")
    rows.sort(key=lambda volume: volume.id)
    volumes = [VolumeSummary(v.id, v.label, v.read_only, max(v.capacity - used_bytes(session, v), 0)) for v in rows]
    return paginate(volumes, 10)
