"""Loaded once by the process that all stages are forked from."""

from __future__ import annotations

from tests.bench.kills.workspace import import_everything

import_everything()
