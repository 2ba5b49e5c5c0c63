"""Prefect's settings for a machine on its own: no analytics, state under `.cache`, a patient start.

Import this before `prefect`. What the environment already says wins, so `PREFECT_API_URL` still names a
server and `PREFECT_HOME` another place.
"""

from __future__ import annotations

import os
from pathlib import Path

_HOME = Path(".cache/prefect")
_DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}


def use_local_settings() -> None:
    """Set what the environment leaves open."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    if "PREFECT_HOME" not in os.environ:
        _HOME.mkdir(parents=True, exist_ok=True)  # Prefect creates the last folder only
        os.environ["PREFECT_HOME"] = str(_HOME.resolve())
