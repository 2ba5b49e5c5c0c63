"""Prefect's settings for a machine on its own: no analytics, state under `.cache`, a patient start.

Import this before `prefect`. What the environment already says wins, so `PREFECT_API_URL` still names a
server and `PREFECT_HOME` another place. While `python -m flows.ui` runs, its server is used.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

SERVER_ADDRESS = "server-address"
"""The file in `PREFECT_HOME` that names the running server's API."""

_HOME = Path(".cache/prefect")
_DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_CLIENT_MAX_RETRIES": "3",  # with doubling pauses: a server that has gone is known within half a minute
}
_ANSWER_SECONDS = 3.0


def use_local_settings() -> None:
    """Set what the environment leaves open."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    if "PREFECT_HOME" not in os.environ:
        _HOME.mkdir(parents=True, exist_ok=True)  # Prefect creates the last folder only
        os.environ["PREFECT_HOME"] = str(_HOME.resolve())
    if "PREFECT_API_URL" not in os.environ and (address := _running_server()):
        os.environ["PREFECT_API_URL"] = address


def _running_server() -> str:
    """The API of the server that the user interface started, "" if there is none or it does not answer."""
    file = Path(os.environ["PREFECT_HOME"]) / SERVER_ADDRESS
    if not file.is_file():
        return ""
    address = file.read_text(encoding="utf-8").strip()
    try:
        with urlopen(f"{address}/health", timeout=_ANSWER_SECONDS):  # an address on loopback, written by ourselves
            return address
    except (URLError, OSError, ValueError):
        return ""
