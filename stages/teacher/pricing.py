"""What an answer costs: by the price in `params.yaml`, else as LiteLLM reckons it from its own table.

Its table knows discounts for repeated prompts; a price of our own is tokens times price.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stages.params import TeacherParams
from stages.records import Message, ToolSpec
from stages.teacher.provider import is_scripted, load_litellm
from stages.teacher.wire import function, to_openai

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English and JSON; tokenizers of today are within a third of it."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """US dollars for so many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


def price_of(params: TeacherParams) -> Price | None:
    """The price of a teacher, or None where nobody knows it (a model that is served privately)."""
    if params.price is not None:
        return Price(params.price.prompt, params.price.completion)
    if is_scripted(params.model):
        return Price(0.0, 0.0)
    try:
        known = load_litellm().get_model_info(params.model)
    except Exception:  # noqa: BLE001  # LiteLLM raises a bare Exception for a model that is not in its table
        return None
    return Price((known["input_cost_per_token"] or 0.0) * 1e6, (known["output_cost_per_token"] or 0.0) * 1e6)


def cost_of(response: Any, params: TeacherParams, prompt_tokens: int, completion_tokens: int) -> float:
    """US dollars for a provider's response; 0 where the price is unknown."""
    if params.price is not None:
        return Price(params.price.prompt, params.price.completion).of(prompt_tokens, completion_tokens)
    return float(response._hidden_params.get("response_cost") or 0.0)


def rough_tokens(messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> int:
    """Tokens of messages and tools before anybody has counted them: characters of their JSON over four."""
    parts = [to_openai(message) for message in messages] + [function(tool) for tool in tools]
    return -(-sum(len(json.dumps(part, ensure_ascii=False)) for part in parts) // CHARACTERS_PER_TOKEN)
