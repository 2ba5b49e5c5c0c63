"""LiteLLM as it is used here: with the scripted provider beside the hosted ones, and without its own look-ups."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from stages.teacher import scripted


@cache
def load_litellm() -> Any:
    """LiteLLM with the scripted provider registered; its import takes seconds and asks no network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm
    from litellm.types.utils import Choices, ModelResponse
    from litellm.types.utils import Message as LiteLlmMessage

    class ScriptedProvider(litellm.CustomLLM):  # type: ignore[misc]
        async def acompletion(self, model: str, messages: list[dict[str, Any]], *args: Any, **options: Any) -> Any:
            content = scripted.write(options["optional_params"]["script"], messages)
            response = ModelResponse()
            response.choices = [Choices(finish_reason="stop", message=LiteLlmMessage(**content))]
            response._hidden_params["response_cost"] = 0.0  # else LiteLLM searches its price table at length
            return response

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.custom_provider_map = [{"provider": scripted.PROVIDER, "custom_handler": ScriptedProvider()}]
    return litellm


def is_scripted(model: str) -> bool:
    """Whether a model plays plans rather than thinks."""
    return model.startswith(f"{scripted.PROVIDER}/")
