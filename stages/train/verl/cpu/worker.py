"""What Ray runs as Python for its workers on the test device: it asks `forks.py` for one, and ends when that ends."""

import json
import os
import socket
import sys
from pathlib import Path


def main() -> None:
    """Hand over arguments, environment, directory and streams; wait."""
    with socket.socket(socket.AF_UNIX) as forks:
        forks.connect(os.environ["PROVE_FORKS"])
        socket.send_fds(forks, [b"+"], [0, 1, 2])
        forks.sendall(json.dumps([sys.argv[1:], dict(os.environ), str(Path.cwd())]).encode())
        forks.shutdown(socket.SHUT_WR)
        forks.recv(1)


if __name__ == "__main__":
    main()
