"""Tools about accounts, owners and permissions."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from servers.filesystem.changes import check_quota, check_writable, owned_bytes, volume_of
from servers.filesystem.model import Fault, GroupName, Node, Password, Path, Shell, User, UserName
from servers.filesystem.paths import existing, may, me, mode_text, parent_of, shell_of, subtree, user_of
from servers.filesystem.server import server
from servers.filesystem.views import Access, Ownership, UserSummary, WorkingDirectory
from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.store import shown

Mode = Annotated[str, Field(pattern=r"^([0-7]{3}|[ugoa]{1,4}[+=-][rwx]{1,3})$")]
_SHIFTS = {"u": (6,), "g": (3,), "o": (0,), "a": (6, 3, 0)}
_LETTERS = {"r": 4, "w": 2, "x": 1}


def check_owner(session: Session, node: Node) -> User:
    """Refuse to let anybody but the owner or root change owner or mode."""
    user = me(session)
    check_writable(session, node.id)
    if user.id not in (node.owner, "root"):
        raise ToolError(
            Fault.NOT_OWNER,
            f"{shown(node.id)} belongs to {node.owner}, who alone may change that; copy_path makes yours.",
        )
    return user


def check_active(session: Session, user: User) -> None:
    """Refuse an account whose last day has passed."""
    if user.expires is not None and user.expires < session.now.date():
        raise ToolError(
            Fault.ACCOUNT_EXPIRED, f"The account {user.id} expired on {user.expires}; list_system_users shows others."
        )


def new_mode(mode: int, change: str) -> int:
    """Mode bits after a change such as `640` or `g+w`."""
    if change.isdigit():
        return mode & 0o1000 | int(change, 8)
    who, sign, rights = next(change.partition(s) for s in "+-=" if s in change)
    bits = 0
    for letter in rights:
        bits |= _LETTERS[letter]
    for shift in {s for letter in who for s in _SHIFTS[letter]}:
        kept = mode & ~(7 << shift) if sign == "=" else mode
        mode = kept & ~(bits << shift) if sign == "-" else kept | bits << shift
    return mode


@server.tool(read_only=True)
def check_path_access(session: Session, path: Path, user_name: UserName | None = None) -> Access:
    """Check whether a user may read, write or execute a path.

    Args:
        path: the file or directory.
        user_name: the user, by default who is logged in.

    Raises:
        permission_denied: a directory on the way is closed to the logged-in user.
        broken_link: it is a link to nothing.
    """
    node = existing(session, path)
    user = me(session) if user_name is None else user_of(session, user_name)
    above, open_way = node.id, True
    while above != "/":
        above = parent_of(above)
        holder = session.table(Node).get(above)
        open_way = open_way and holder is not None and may(user, holder, "execute")
    read, write, execute = (open_way and may(user, node, right) for right in ("read", "write", "execute"))
    return Access(node.id, user.id, read, write and not volume_of(session, node.id).read_only, execute)


@server.tool(read_only=True)
def list_system_users(
    session: Session, query: Query = "", group: GroupName | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[UserSummary]:
    """List the accounts of the machine with their groups and what is left of their quota. Ordered by name.

    Args:
        query: words of the user name or full name.
        group: only members of this group.
        limit: most accounts to return.
        offset: how many to skip.
    """
    users = search(session.table(User).all(), query, lambda user: f"{user.id} {user.full_name}")
    users = sorted((u for u in users if group is None or group in u.groups), key=lambda user: user.id)
    summaries = [UserSummary(u.id, u.full_name, u.groups, max(u.quota - owned_bytes(session, u), 0)) for u in users]
    return paginate(summaries, limit, offset)


@server.tool(idempotent=True)
def change_permissions(session: Session, path: Path, mode: Mode, recursive: bool = False) -> Ownership:
    """Change who may read, write and execute a path.

    Args:
        path: the file or directory.
        mode: three octal digits such as 640, or a change such as g+w, o-r, a=rx.
        recursive: also change all below a directory.

    Raises:
        not_owner: only the owner may change it.
        read_only_volume: nothing on the volume may be changed.
    """
    node = existing(session, path)
    nodes = subtree(session, node) if recursive else [node]
    for inner in nodes:
        check_owner(session, inner)
        session.table(Node).put(replace(inner, mode=new_mode(inner.mode, mode)))
    return ownership(session, node.id, len(nodes))


@server.tool()
def change_owner(session: Session, path: Path, owner: UserName, group: GroupName | None = None) -> Ownership:
    """Give a path of yours to another user, and optionally to one of your groups.

    Args:
        path: the file or directory; what lies below a directory stays as it is.
        owner: who is to own it.
        group: the group that is to have it, one of yours.

    Raises:
        not_owner: only the owner may give it away.
        not_group_member: the logged-in user is not in the group.
        account_expired: the new owner's account has expired.
        quota_exceeded: the new owner has no quota left for it.
        read_only_volume: nothing on the volume may be changed.
    """
    node = existing(session, path)
    user, target = check_owner(session, node), user_of(session, owner)
    if group is not None and group not in user.groups and user.id != "root":
        known = sorted({name for account in session.table(User).all() for name in account.groups})
        if group not in known:
            raise ToolError(KernelFault.NOT_FOUND, f"There is no group {shown(group)}; there are {', '.join(known)}.")
        raise ToolError(
            Fault.NOT_GROUP_MEMBER, f"{user.id} is not in {group}; give one of {', '.join(user.groups)} instead."
        )
    check_active(session, target)
    if target.id != node.owner:
        check_quota(session, target, node.size)
    session.table(Node).put(replace(node, owner=target.id, group=group or node.group))
    return ownership(session, node.id, 1)


def ownership(session: Session, path: str, changed: int) -> Ownership:
    """Owner and mode of a path as they are now."""
    node = session.table(Node).require(path, "list_directory shows what exists.")
    return Ownership(node.id, node.owner, node.group, mode_text(node.mode), changed)


@server.tool()
def switch_user(session: Session, user_name: UserName, password: Password) -> WorkingDirectory:
    """Log in as another user with their password, in their home directory.

    Args:
        user_name: the account to use, from list_system_users.
        password: the account's password as the user said it.

    Raises:
        wrong_password: the password is not the account's.
        account_expired: the account's last day has passed.
    """
    user = user_of(session, user_name)
    if password != user.password:
        raise ToolError(Fault.WRONG_PASSWORD, f"That is not the password of {user.id}. Ask for it; never guess.")
    check_active(session, user)
    session.table(Shell).put(replace(shell_of(session), user=user.id, cwd=user.home))
    return WorkingDirectory(user.home, user.id)
