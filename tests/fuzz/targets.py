"""All targets by name, imported when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tests.fuzz.target import Target

PLACES: Mapping[str, tuple[str, str]] = {
    "reply": ("replies", "REPLY"),
    "wire": ("replies", "WIRE"),
    "notation": ("replies", "NOTATION"),
    "template": ("templates", "TEMPLATE"),
    "read-back": ("templates", "READER"),
    "params": ("documents", "PARAMS"),
    "profile": ("documents", "PROFILE"),
    "grid": ("documents", "GRID"),
    "requests": ("documents", "REQUESTS"),
    "conversations": ("tables", "CONVERSATION_TABLE"),
    "rl-rows": ("tables", "RL_TABLE"),
    "sft-rows": ("tables", "SFT_TABLE"),
    "episodes": ("tables", "EPISODE_TABLE"),
    "metrics": ("tables", "METRICS"),
}


def target(name: str) -> Target:
    """The target of this name."""
    module, attribute = PLACES[name]
    found: Target = getattr(import_module(f"tests.fuzz.{module}"), attribute)
    return found
