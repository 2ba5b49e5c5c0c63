"""`python -m tests.servers.gateway.served --http …`: the servers' own `serve` command, over the notes."""

from __future__ import annotations

import sys

import servers.__main__ as command
from tests.servers.gateway.notes import CATALOG


def main() -> None:
    """Run the command."""
    command._catalog = lambda server: CATALOG
    sys.argv[1:1] = ["serve"]
    command.main()


if __name__ == "__main__":
    main()
