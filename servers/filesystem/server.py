"""The file system as a tool server, and what its user knows by heart."""

from __future__ import annotations

from collections.abc import Iterator

from servers.filesystem.model import ArchiveEntry, Fault, Node, Shell, TrashItem, User, Volume
from servers.filesystem.seed import build
from servers.kernel.server import Known, ToolServer
from servers.kernel.session import Session
from servers.shared.people import user


def knows(session: Session) -> Iterator[Known]:
    """The user knows their own password and those of the accounts that the team shares.

    For any other account they can only offer their own, which is refused.
    """
    own = user(session.world.seed).username
    for account in session.table(User).all():
        if account.id == own:
            yield Known("password", account.password)
        if account.id == own or "shared-accounts" in account.groups:
            yield Known("password", account.password, account.id)


server = ToolServer(
    "filesystem",
    "Files, directories, permissions, archives and trash of a multi-user machine",
    records=(Node, User, Volume, TrashItem, ArchiveEntry, Shell),
    seed=build,
    faults=Fault,
    knows=knows,
)
