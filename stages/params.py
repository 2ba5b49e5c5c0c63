"""`params.yaml`, typed: one block for each stage, unknown keys refused with the nearest known one.

Values here are the published ones where a paper gives them; `params.yaml` overrides them with a run
that fits a laptop.
"""

from __future__ import annotations

import hashlib
import json
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]

DEFAULT_SEED = 7

# Every top-level name that `params.yaml` may hold beside `seed`; a new block is added here.
BLOCKS = ("bootstrap", "discover", "teacher", "synthesize", "validate", "train", "reward", "evaluate", "report")


class ParamsError(Exception):
    """A parameter is unknown or out of range; the message names it and the cure."""


class Block(BaseModel):
    """Base of all parameter blocks: frozen, no unknown keys, no coercion of text to numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _ascending(value: tuple[int, int]) -> tuple[int, int]:
    if not 0 < value[0] <= value[1]:
        raise ValueError("must be [fewest, most] with 0 < fewest <= most")
    return value


Span: TypeAlias = Annotated[tuple[int, int], AfterValidator(_ascending)]
"""Fewest and most, both included."""


class BootstrapParams(Block):
    """Which servers run, over which transport they are checked, and which weights training starts from."""

    servers: list[str] = []
    transport: Literal["stdio", "http"] = "stdio"
    policy: str = "smollm2-135m-instruct"


class DiscoverParams(Block):
    """How tool pairs are tried and which evidence makes an edge."""

    trust: Literal["executed", "teacher", "both"] = "executed"
    bindings: Annotated[int, Field(ge=1, le=100)] = 6
    pairs_per_request: Annotated[int, Field(ge=1, le=100)] = 20
    chain_length: Span = (2, 5)
    chains: Annotated[int, Field(ge=1)] = 2000


class TeacherParams(Block):
    """The model that writes conversations, by its LiteLLM name; `scripted/grounded` needs no network."""

    model: str = "scripted/grounded"
    api_base: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.7
    discover_temperature: Annotated[float, Field(ge=0, le=2)] = 0.1
    max_tokens: Annotated[int, Field(ge=1)] = 1024
    timeout: Annotated[float, Field(gt=0)] = 60.0
    attempts: Annotated[int, Field(ge=1, le=10)] = 4
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8


class MixParams(Block):
    """Shares of the three kinds of conversation; the rest is multi-turn (paper: .806, .111, .083)."""

    clarification: Share = 0.111
    abstention: Share = 0.083

    @model_validator(mode="after")
    def _leave_room(self) -> Self:
        if self.clarification + self.abstention > 1:
            raise ValueError("clarification and abstention together exceed 1")
        return self


class InformationParams(Block):
    """How much of what a request needs is said at once: everything, all but one value, or next to nothing."""

    complete: Share = 0.6
    missing: Share = 0.2
    minimal: Share = 0.2

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        if abs(self.complete + self.missing + self.minimal - 1) > 1e-9:
            raise ValueError("complete, missing and minimal must sum to 1")
        return self


class SynthesizeParams(Block):
    """How many conversations are written, and how they vary."""

    conversations: Annotated[int, Field(ge=1)] = 13_517
    mix: MixParams = MixParams()
    information: InformationParams = InformationParams()
    max_turns: Annotated[int, Field(ge=1, le=10)] = 3
    stop_after_two: Share = 0.7
    refresh_every: Annotated[int, Field(ge=1)] = 10
    max_retries: Annotated[int, Field(ge=0, le=5)] = 2
    mistake_rate: Share = 0.15
    server_tools: Annotated[int, Field(ge=0)] = 0
    distractor_rate: Share = 0.4
    distractors: Span = (3, 8)
    enum_strip_rate: Share = 0.3
    irrelevance_rate: Share = 0.05
    missing_function_rate: Share = 0.12


class SplitParams(Block):
    """Shares of the validation and the test split; chains never cross splits."""

    val: Share = 0.1
    test: Share = 0.1

    @model_validator(mode="after")
    def _leave_training(self) -> Self:
        if self.val + self.test >= 1:
            raise ValueError("val and test leave nothing to train on")
        return self


class ValidateParams(Block):
    """What is rejected, and how the rest is divided."""

    max_error_rate: Share = 0.3
    near_duplicate: Share = 0.7
    split: SplitParams = SplitParams()
    held_out_servers: list[str] = []


class EvaluateParams(Block):
    """Which rows and tasks the policies are scored on."""

    rows: Annotated[int, Field(ge=1)] = 500
    batch: Annotated[int, Field(ge=1)] = 16
    bfcl_sample: Annotated[int, Field(ge=0, le=200)] = 200
    bfcl_context: Annotated[int, Field(ge=256)] = 16_384
    bootstrap_samples: Annotated[int, Field(ge=100)] = 10_000


class ReportParams(Block):
    """What the page shows."""

    episodes: Annotated[int, Field(ge=0)] = 20
    title: str = "PROVE pipeline"


def load_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping.

    Raises:
        ParamsError: the file is missing, not YAML, or no mapping.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParamsError(f"{path} is missing: run from the repository's root") from None
    except yaml.YAMLError as error:
        raise ParamsError(f"{path} is not YAML: {error}") from None
    if not isinstance(loaded, dict):
        raise ParamsError(f"{path} must hold a mapping of stage names to blocks")
    return loaded


def load_params(path: Path) -> dict[str, Any]:
    """The blocks of `params.yaml` as plain data, with every top-level name known and `seed` a number.

    An absent or empty block is left out: its defaults hold.

    Raises:
        ParamsError: a name is unknown, a block is no mapping, or the seed is no whole number from 0.
    """
    loaded = load_yaml(path)
    for name, value in loaded.items():
        if name != "seed" and name not in BLOCKS:
            raise ParamsError(f"{path}: unknown block {str(name)[:80]!r}; {_advice(str(name), ['seed', *BLOCKS])}")
        if name != "seed" and not isinstance(value, dict | None):
            raise ParamsError(f"{path}: {name} must be a mapping of keys to values, found {str(value)[:80]!r}")
    seed = loaded.get("seed", DEFAULT_SEED)
    if type(seed) is not int or seed < 0:
        raise ParamsError(f"{path}: seed must be a whole number from 0, found {str(seed)[:80]!r}")
    return {name: value for name, value in loaded.items() if value is not None}


def check_block(kind: type[BaseModel], value: Any, where: str) -> Any:
    """Validate a block.

    Raises:
        ParamsError: names every bad key with its place, the value found and what is expected.
    """
    try:
        return kind.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise ParamsError("\n".join(_complaint(kind, item, where) for item in error.errors())) from None
    except TypeError as error:
        raise ParamsError(f"{where}: {error}") from None


def params_hash(block: BaseModel) -> str:
    """Digest of a block's values, 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(block.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()[:16]


def _complaint(kind: type[BaseModel], item: Any, where: str) -> str:
    path = ".".join(str(part) for part in item["loc"])
    if item["type"] != "extra_forbidden":
        return f"{where}.{path}: {item['msg']}, found {str(item['input'])[:80]!r}"
    known = _keys_at(kind, item["loc"][:-1])
    return f"{where}.{path}: unknown key; {_advice(str(item['loc'][-1]), known)}"


def _advice(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"


def _keys_at(kind: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    for part in path:
        field = kind.model_fields.get(str(part))
        annotation = field.annotation if field else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        kind = annotation
    return list(kind.model_fields)
