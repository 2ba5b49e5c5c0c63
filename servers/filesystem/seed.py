"""The machine's initial world: its accounts and volumes, the user's home, colleagues' homes and shared places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

from servers.filesystem.model import ArchiveEntry, Kind, Node, Shell, TrashItem, User, Volume
from servers.filesystem.texts import text_for
from servers.kernel.dice import Dice
from servers.kernel.server import SeedBuilder
from servers.kernel.session import EPOCH
from servers.kernel.store import Record
from servers.shared.people import people

_HOME = {
    "archives": (),
    "documents": ("cover-letter.txt", "travel-checklist.md", "meeting-minutes.md", "insurance.pdf"),
    "documents/contracts": ("lease-2025.txt", "lease-2026.txt", "phone-contract.pdf"),
    "documents/reports": ("q1-report.md", "q2-report.md", "q3-report.md", "annual-report.pdf"),
    "documents/taxes": ("receipts-2025.csv", "tax-notes.txt"),
    "downloads": ("ticket.pdf", "installer.bin", "readme-first.txt", "export.csv", "broken-download.zip"),
    "logs": ("sync.log", "backup.log", "update.log"),
    "music": ("evening-mix.mp3", "piano-study.mp3"),
    "notes": ("ideas.txt", "todo.txt", "reading-list.md", "recipes.txt", "gift-ideas.txt"),
    "pictures": ("avatar.png",),
    "pictures/family": ("birthday.jpg", "garden.jpg", "grandparents.jpg"),
    "pictures/trips": ("harbour.jpg", "mountains.jpg", "old-town.jpg"),
    "projects": (),
    "scripts": ("nightly.sh", "cleanup.sh", "resize.py"),
    ".config": ("editor.ini", "sync.conf"),
    "empty-folder": (),
}
_PROJECTS = ("atlas", "beacon", "cinder", "drift", "ember", "falcon", "grove", "harbor", "indigo", "juniper")
_PROJECT = {
    "": ("README.md", "changelog.md"),
    "/src": ("main.py", "parser.py", "report.py"),
    "/tests": ("test_main.py",),
    "/data": ("sales.csv", "visits.csv", "raw.bin"),
    "/docs": ("guide.md", "faq.md"),
    "/build": ("build.log",),
}
_COLLEAGUE = {
    "": ("plan.txt", "private.txt", "hello.md"),
    "/work": ("figures.csv", "memo.md", "trace.log"),
    "/public": ("phone-list.txt", "office-map.png"),
}
_SYSTEM = {
    "/etc": ("hosts.conf", "network.conf", "printer.conf", "welcome.txt"),
    "/var/log": ("system.log", "mail.log", "cron.log", "access.log"),
    "/usr/share/doc": ("license.txt", "manual.md", "release-notes.md"),
    "/tmp": ("session.log", "upload.bin"),
}
_SHARED = {
    "/shared/team": ("holiday-plan.md", "onboarding.md", "rota.csv", "retro-notes.md", "logo.png"),
    "/shared/team/templates": ("letter.txt", "agenda.md", "minutes.md"),
    "/shared/finance": ("ledger.csv", "salaries.csv", "forecast.md"),
    "/mnt/cold/2024": ("orders.csv", "inventory.csv", "summary.md"),
    "/mnt/cold/2025": ("orders-2025.csv", "returns.csv", "closing.md"),
    "/mnt/usb": ("slides.pdf", "notes-usb.txt"),
}
_BINARY = {"pdf": 900, "png": 700, "jpg": 1200, "mp3": 2400, "bin": 1500, "zip": 300}
_THROWN_AWAY = (
    "old-draft.txt",
    "scan.pdf",
    "shopping.txt",
    "budget-2024.csv",
    "holiday.jpg",
    "notes/ideas.txt",
    "test.log",
    "projects/sketch.md",
    "downloads/setup.bin",
    "documents/letter.txt",
)
_TEAM = ("staff", "design", "finance", "research")


class _Disk:
    """Makes nodes with the directories above them."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.nodes: dict[str, Node] = {}

    def add(
        self,
        path: str,
        kind: Kind,
        owner: str,
        group: str,
        mode: int,
        *,
        content: str = "",
        size: int | None = None,
        text: bool = True,
        target: str = "",
        bundle: str = "",
    ) -> Node:
        """Put one node on the disk."""
        parent = "" if path == "/" else path.rpartition("/")[0] or "/"
        at = EPOCH - timedelta(seconds=self.dice.integer(4_000, 18_000_000))
        length = len(content.encode()) if size is None else size
        row = Node(path, parent, kind, owner, group, mode, at, content, length, text, target, bundle)
        self.nodes[path] = row
        return row

    def directory(self, path: str, owner: str, group: str, mode: int) -> None:
        """Put a directory on the disk, with those above it."""
        above = path.rpartition("/")[0]
        if above and above not in self.nodes:
            self.directory(above, owner, group, mode)
        if path not in self.nodes:
            self.add(path, "directory", owner, group, mode)

    def file(self, path: str, owner: str, group: str, mode: int, name: str = "") -> None:
        """Put a file on the disk; the ending of its name decides what it holds."""
        name = name or path.rpartition("/")[2]
        base = _BINARY.get(name.rpartition(".")[2])
        if base is None:
            self.add(path, "file", owner, group, mode, content=text_for(self.dice, name))
        else:
            size = base + self.dice.integer(0, base)
            stamp = f"{self.dice.integer(10**9, 10**10)}"
            self.add(path, "file", owner, group, mode, content=stamp, size=size, text=False)

    def children(self, path: str) -> list[Node]:
        """The files directly in a directory."""
        return [node for node in self.nodes.values() if node.parent == path and node.kind == "file"]

    def folder(self, path: str, names: tuple[str, ...], owner: str, group: str, modes: tuple[int, int]) -> None:
        """Put a directory and its files on the disk."""
        self.directory(path, owner, group, modes[0])
        for name in names:
            self.file(f"{path}/{name}", owner, group, modes[1])


def build(make: SeedBuilder) -> Iterator[Record]:
    """Write accounts and volumes, then the tree, the archives and the trash."""
    dice = make.dice
    users = list(_users(make, dice))
    own = users[0]
    disk = _Disk(dice)
    _system(disk)
    for colleague in users[1:9]:
        _colleague(disk, colleague)
    for account in users[9:]:
        mode = 0o700 if account.id == "root" else 0o755
        disk.folder(account.home, ("notice.txt",), account.id, account.groups[0], (mode, 0o644))
    _own_home(disk, own)
    archives = list(_archives(make, disk, own))
    trash = list(_trash(make, disk, users))
    _hold_open(disk, own, users[1])
    yield from users
    yield Volume("/", "system disk", False, 400_000)
    yield Volume("/home", "home disk", False, 260_000)
    yield Volume("/shared", "team share", False, 60_000)
    yield Volume("/mnt/cold", "yearly backup", True, 30_000)
    yield Volume("/mnt/usb", "USB stick", False, sum(n.size for n in disk.nodes.values() if "/usb/" in n.id) + 400)
    yield from disk.nodes.values()
    yield from archives
    yield from trash
    yield Shell("shell", own.id, own.home)


def _users(make: SeedBuilder, dice: Dice) -> Iterator[User]:
    for n, person in enumerate(people(make.seed, 9)):
        groups = ("staff", "design" if n == 0 else dice.choice(_TEAM[1:]))
        yield User(
            id=person.username,
            full_name=person.name,
            home=f"/home/{person.username}",
            groups=groups,
            quota=90_000 if n == 0 else dice.choice((9_000, 20_000, 40_000)),
            password=f"{dice.choice(('maple', 'violet', 'copper', 'saffron'))}-{dice.integer(1000, 9999)}",
            expires=date(2026, 1, 31) if n in (4, 7) else None,
        )
    for name, title, group in (
        ("deploy", "Deployment account", "research"),
        ("media", "Media library account", "design"),
        ("finance_desk", "Finance desk account", "finance"),
    ):
        secret = f"{name.replace('_', '-')}-{dice.integer(1000, 9999)}"
        yield User(name, title, f"/home/{name}", (group, "shared-accounts"), 30_000, secret)
    yield User("root", "Administrator", "/root", ("root",), 900_000, f"root-{dice.integer(10**6, 10**7)}")


def _system(disk: _Disk) -> None:
    disk.add("/", "directory", "root", "root", 0o755)
    disk.add("/home", "directory", "root", "root", 0o755)
    for path, names in _SYSTEM.items():
        disk.folder(path, names, "root", "root", (0o755, 0o644))
    disk.add("/tmp", "directory", "root", "root", 0o1777)
    disk.directory("/shared", "root", "staff", 0o755)
    disk.directory("/mnt", "root", "root", 0o755)
    for path, names in _SHARED.items():
        finance = path.endswith("finance")
        group = "finance" if finance else "staff"
        disk.folder(path, names, "root", group, (0o750, 0o640) if finance else (0o775, 0o664))


def _colleague(disk: _Disk, user: User) -> None:
    for path, names in _COLLEAGUE.items():
        disk.folder(user.home + path, names, user.id, "staff", (0o755, 0o644))
    disk.file(f"{user.home}/private.txt", user.id, user.groups[1], 0o600)
    if disk.dice.chance(0.5):
        disk.add(f"{user.home}/work", "directory", user.id, "staff", 0o700)
    disk.file(f"/shared/team/{user.id}-status.md", user.id, "staff", 0o644)


def _own_home(disk: _Disk, own: User) -> None:
    home, dice = own.home, disk.dice
    disk.directory(home, own.id, "staff", 0o755)
    for path, names in _HOME.items():
        disk.folder(f"{home}/{path}", names, own.id, "staff", (0o755, 0o644))
    projects = dice.sample(_PROJECTS, 3)
    for project in projects:
        for path, names in _PROJECT.items():
            disk.folder(f"{home}/projects/{project}{path}", names, own.id, "design", (0o755, 0o644))
    for year in dice.sample(tuple(range(2016, 2026)), 4):
        disk.file(f"{home}/documents/summary-{year}.md", own.id, "staff", 0o644)
        disk.file(f"{home}/pictures/trips/{dice.choice(('lake', 'coast', 'city'))}-{year}.jpg", own.id, "staff", 0o644)
    for source, copy in (("notes/todo.txt", "notes/todo-copy.txt"), ("downloads/export.csv", "documents/export-2.csv")):
        node = disk.nodes[f"{home}/{source}"]
        disk.add(f"{home}/{copy}", "file", own.id, "staff", 0o644, content=node.content)
    disk.file(f"{home}/notes/keepsake.txt", own.id, "staff", 0o444)
    _backup(disk, own)
    links = {
        "current": f"projects/{projects[0]}",
        "team": "/shared/team",
        "old-project": "projects/zephyr",
        "loop-a": "loop-b",
        "loop-b": "loop-a",
    }
    for name, target in links.items():
        disk.add(f"{home}/{name}", "link", own.id, "staff", 0o777, target=target)


def _backup(disk: _Disk, own: User) -> None:
    """An older copy of three folders: some files differ, some are missing."""
    for folder in ("notes", "documents/reports", "scripts"):
        target = f"{own.home}/backup/{folder.rpartition('/')[2]}"
        disk.directory(target, own.id, "staff", 0o755)
        for node in disk.children(f"{own.home}/{folder}"):
            content = node.content if disk.dice.chance(0.5) or not node.text else node.content.replace("TODO ", "")
            size = node.size - len(node.content) + len(content)
            path = f"{target}/{node.id.rpartition('/')[2]}"
            if disk.dice.chance(0.8):
                disk.add(path, "file", own.id, "staff", 0o644, content=content, size=size, text=node.text)


def _archives(make: SeedBuilder, disk: _Disk, own: User) -> Iterator[ArchiveEntry]:
    home = own.home
    plans = {
        "reports-2025.zip": "documents/reports",
        "family-photos.tar.gz": "pictures/family",
        "contracts.zip": "documents/contracts",
        "notes-backup.tar.gz": "notes",
        "scripts.zip": "scripts",
    }
    for name, folder in plans.items():
        bundle = make.new_id("ARCX")
        top = f"{home}/{folder}"
        nodes = [disk.nodes[top], *disk.children(top)]
        cut = top.rpartition("/")[0] + "/"
        for n, node in enumerate(nodes):
            content = node.content if disk.dice.chance(0.7) or node.kind == "directory" else node.content + "old\n"
            size = node.size + len(content) - len(node.content)
            path = node.id.removeprefix(cut)
            yield ArchiveEntry(f"{bundle}:{n}", bundle, path, node.kind, node.mode, content, size, node.text, "")
        size = 22 + sum(node.size for node in nodes) * 6 // 10
        path = f"{home}/archives/{name}"
        disk.add(path, "file", own.id, "staff", 0o644, content=bundle, size=size, text=False, bundle=bundle)


def _trash(make: SeedBuilder, disk: _Disk, users: list[User]) -> Iterator[TrashItem]:
    dice = disk.dice
    for n, name in enumerate(_THROWN_AWAY):
        item = make.new_id("TRSH")
        days = 40 + n if n in (2, 8) else dice.integer(1, 28)
        owner = users[1] if n == 6 else users[0]
        deleted_at = EPOCH - timedelta(days=days, minutes=dice.integer(1, 600))
        leaf = name.rpartition("/")[2]
        path = f"trash:{item}"
        disk.file(path, owner.id, "staff", 0o644, name=leaf)
        disk.nodes[path] = replace(disk.nodes[path], parent="trash:")
        yield TrashItem(item, f"{owner.home}/{name}", owner.id, deleted_at)


def _hold_open(disk: _Disk, own: User, other: User) -> None:
    """Some files are open in somebody's editor for a while."""
    held = (f"{own.home}/documents/meeting-minutes.md", "/shared/team/rota.csv", "/shared/team/templates/agenda.md")
    for n, path in enumerate(held):
        until = EPOCH + timedelta(minutes=20 + 45 * n)
        disk.nodes[path] = replace(disk.nodes[path], locked_by=other.id, locked_until=until)
