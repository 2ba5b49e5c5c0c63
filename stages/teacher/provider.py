"""LiteLLM as it is used here, without its own look-ups, and which models it is not asked for."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from stages.teacher.scripted import PROVIDER


@cache
def load_litellm() -> Any:
    """LiteLLM; its import takes seconds and asks no network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def is_scripted(model: str) -> bool:
    """Whether a model plays plans rather than thinks."""
    return model.startswith(f"{PROVIDER}/")
