"""`params.yaml`, typed: one block for each stage, unknown keys refused with the nearest known one.

Values here are the published ones where a paper gives them; `params.yaml` overrides them with a run
that fits a laptop.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from servers.kernel.yaml_text import read_yaml

Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]

DEFAULT_SEED = 7

# Every top-level name that `params.yaml` may hold beside `seed`; a new block is added here.
BLOCKS = (
    "bootstrap",
    "discover",
    "teacher",
    "synthesize",
    "validate",
    "skills",
    "train",
    "profile",
    "reward",
    "evaluate",
    "report",
)


_SECRET = re.compile(r"(^|_)(api_?key|key|token|secret|password)$", re.IGNORECASE)
_NO_SECRETS = (
    "keys are never read from files: remove it, put it into the provider's environment variable, such as "
    "OPENAI_API_KEY, and take a new one if this file was ever shared"
)


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


def _nameable(value: str) -> str:
    """What no file system can hold is refused here, where the key that it stands at is known."""
    name = os.fsencode(value)
    if b"\0" in name or len(name) > 4000 or max(map(len, name.split(b"/"))) > 255:
        raise ValueError("must be a path, whose parts have at most 255 bytes and which has no NUL")
    return value


FilePath: TypeAlias = Annotated[str, AfterValidator(_nameable)]
"""A file or directory."""


class BootstrapParams(Block):
    """Which servers run, over which transport they are checked, and which weights training starts from."""

    servers: list[str] = []
    transport: Literal["stdio", "http"] = "stdio"
    policy: FilePath = "smollm2-135m-instruct"


class DiscoverParams(Block):
    """How tool pairs are tried and which evidence makes an edge."""

    trust: Literal["executed", "teacher", "both"] = "executed"
    bindings: Annotated[int, Field(ge=1, le=100)] = 6
    pairs_per_request: Annotated[int, Field(ge=1, le=100)] = 20
    chain_length: Span = (2, 5)
    chains: Annotated[int, Field(ge=1)] = 2000


class PriceParams(Block):
    """What a teacher costs, in US dollars for a million tokens."""

    prompt: Annotated[float, Field(ge=0)]
    completion: Annotated[float, Field(ge=0)]


Temperature: TypeAlias = Annotated[float, Field(ge=0, le=2)]
Tokens: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(gt=0)]

Role: TypeAlias = Literal["query", "assistant", "user", "reflector", "discover"]
"""The parts that a teacher plays: it writes requests, acts on them, answers questions as the user, reflects on
trajectories, and judges pairs of tools."""


class RoleParams(Block):
    """What one role of the teacher does differently from the block; null takes the block's value.

    A role with a model of its own takes address and price from itself alone: those of the block belong to
    the block's model, and another provider's key must not be sent there.
    """

    model: str | None = None
    api_base: str | None = None
    temperature: Temperature | None = None
    max_tokens: Tokens | None = None
    timeout: Seconds | None = None
    price: PriceParams | None = None


class RolesParams(Block):
    """One block for each `Role`."""

    query: RoleParams = RoleParams()
    assistant: RoleParams = RoleParams()
    user: RoleParams = RoleParams()
    reflector: RoleParams = RoleParams()
    discover: RoleParams = RoleParams()


class TeacherParams(Block):
    """The model that writes conversations, by its LiteLLM name; `scripted/grounded` needs no network."""

    model: str = "scripted/grounded"
    api_base: str | None = None
    temperature: Temperature = 0.7
    discover_temperature: Temperature = 0.1
    max_tokens: Tokens = 1024
    timeout: Seconds = 60.0
    attempts: Annotated[int, Field(ge=1, le=10)] = 4
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    requests_per_minute: Annotated[int, Field(ge=1)] | None = None
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    cache: FilePath | None = ".cache/teacher.sqlite"
    price: PriceParams | None = None
    budget: Annotated[float, Field(gt=0)] | None = None
    serve: Literal["none", "vllm"] = "none"
    tool_parser: str | None = None
    serve_args: list[str] = []
    serve_timeout: Seconds = 1800.0
    roles: RolesParams = RolesParams()

    @model_validator(mode="after")
    def _serve_what_can_be_served(self) -> Self:
        if self.serve == "vllm" and (not self.model.startswith("hosted_vllm/") or self.api_base):
            raise ValueError("serve: vllm wants model: hosted_vllm/<weights> and no api_base")
        if any(argument.startswith("--api-key") for argument in self.serve_args):
            raise ValueError("serve_args: everybody sees a process's arguments: set VLLM_API_KEY instead of --api-key")
        return self

    def of(self, role: Role) -> TeacherParams:
        """The block as it holds for one role."""
        own: RoleParams = getattr(self.roles, role)
        values = {name: value for name, value in own if value is not None}
        if own.model is not None:
            values |= {"api_base": own.api_base, "price": own.price}
        if role == "discover":
            values.setdefault("temperature", self.discover_temperature)
        return self.model_copy(update=values)

    def shaping(self) -> str:
        """The values that decide what is written, as JSON: limits, prices and addresses are not among them."""
        kept = dict.fromkeys(("model", "temperature", "max_tokens"), True)
        roles = dict.fromkeys(RolesParams.model_fields, kept)
        return self.model_dump_json(include={**kept, "discover_temperature": True, "roles": roles})


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
    """How many conversations are written, and how they vary.

    `processes`, `workers` and the keys of Ray decide who writes, never what is written: they are left out of
    the block's values and digest.
    """

    conversations: Annotated[int, Field(ge=1)] = 13_517
    mix: MixParams = MixParams()
    information: InformationParams = InformationParams()
    max_turns: Annotated[int, Field(ge=1, le=10)] = 3
    stop_after_two: Share = 0.7
    refresh_every: Annotated[int, Field(ge=1)] = 10
    max_retries: Annotated[int, Field(ge=0, le=5)] = 2
    mistake_rate: Share = 0.15
    setback_rate: Share = 0.08
    server_tools: Annotated[int, Field(ge=0)] = 0
    distractor_rate: Share = 0.4
    distractors: Span = (3, 8)
    enum_strip_rate: Share = 0.3
    irrelevance_rate: Share = 0.05
    missing_function_rate: Share = 0.12
    processes: Annotated[int, Field(ge=1, le=64, exclude=True)] = 1
    workers: Annotated[Literal["local", "ray"], Field(exclude=True)] = "local"
    ray_workers: Annotated[int, Field(ge=1, le=1024, exclude=True)] = 2
    ray_address: Annotated[str | None, Field(exclude=True)] = None


class SplitParams(Block):
    """Shares of the validation and the test split; chains never cross splits."""

    val: Share = 0.1
    test: Share = 0.1

    @model_validator(mode="after")
    def _leave_training(self) -> Self:
        if self.val + self.test >= 1:
            raise ValueError("val and test leave nothing to train on")
        return self


class QuotaParams(Block):
    """Most accepted conversations of each kind (paper: 10,895, 1,500 and 1,122)."""

    multi_turn: Annotated[int, Field(ge=0)] = 10_895
    clarification: Annotated[int, Field(ge=0)] = 1_500
    abstention: Annotated[int, Field(ge=0)] = 1_122


class DecontaminateParams(Block):
    """Benchmarks whose questions no conversation may repeat: data directories, null where they are not at hand.

    BFCL is read from its package and needs none; for τ² `package` says the same. `ngram` is the run of words that makes
    a repeat.
    """

    ngram: Annotated[int, Field(ge=2)] = 8
    tau2: FilePath | None = None
    acebench: FilePath | None = None
    teval: FilePath | None = None


class AbstentionSetParams(Block):
    """A set of questions that the tools beside them can't answer: a file, a directory or a hub's data set."""

    path: FilePath
    format: Literal["when2call", "xlam_irrelevance"]


class ValidateParams(Block):
    """What is rejected, how much is kept, and how it is divided."""

    max_error_rate: Share = 0.3
    near_duplicate: Share = 0.7
    quota: QuotaParams | None = None
    decontaminate: DecontaminateParams = DecontaminateParams()
    abstention_sets: list[AbstentionSetParams] = []
    split: SplitParams = SplitParams()
    held_out_servers: list[str] = []


class SkillsParams(Block):
    """How the skill library is made, read and judged by; the reward always takes the program as its judge."""

    embedder: Literal["tfidf", "sentence"] = "tfidf"
    min_cluster_size: Annotated[int, Field(ge=2)] = 15
    router: Literal["nearest", "classifier"] = "nearest"
    judge: Literal["program", "teacher"] = "program"
    agreement_turns: Annotated[int, Field(ge=1)] = 50


AgentName: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


class HostedParams(Block):
    """An agent behind an API, by its LiteLLM name; the key comes from the provider's environment variable."""

    model: str
    api_base: str | None = None
    temperature: Temperature = 0.0
    max_tokens: Tokens = 1024
    timeout: Seconds = 60.0
    attempts: Annotated[int, Field(ge=1, le=10)] = 4
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    price: PriceParams | None = None


class HeldoutParams(Block):
    """Held-out rows at most of each kind: unseen chains, unseen worlds, unseen servers; null takes the suite's."""

    chains: Annotated[int, Field(ge=0)] | None = None
    worlds: Annotated[int, Field(ge=0)] | None = None
    servers: Annotated[int, Field(ge=0)] | None = None


class BenchmarkParams(Block):
    """One benchmark: what is left out is the suite's.

    `sample` is a number of tasks of each category, "all", or a number by category; 0 runs the controls alone.
    `data` and `code` are directories, `user` is the model that plays the user, `trials` how often each task is
    played: each for the benchmarks that know them.
    """

    sample: Annotated[int, Field(ge=0)] | Literal["all"] | dict[str, Annotated[int, Field(ge=0)]] | None = None
    agents: list[AgentName] | None = None
    data: FilePath | None = None
    code: FilePath | None = None
    user: HostedParams | None = None
    trials: Annotated[int, Field(ge=1)] = 1


class EvaluateParams(Block):
    """Who is scored, on what, and within which limits."""

    suite: Literal["smoke", "standard", "full"] = "full"
    agents: Annotated[list[AgentName], Field(min_length=1)] = ["base", "sft", "policy"]
    hosted: dict[AgentName, HostedParams] = {}
    heldout: HeldoutParams = HeldoutParams()
    benchmarks: dict[str, BenchmarkParams] = {}
    batch: Annotated[int, Field(ge=1)] = 16
    max_context: Annotated[int, Field(ge=256)] = 16_384
    max_replies: Annotated[int, Field(ge=1)] = 200
    task_seconds: Seconds = 600.0
    bootstrap_samples: Annotated[int, Field(ge=100)] = 10_000


class ReportParams(Block):
    """What the pages show: episodes on the report, and records of each explorer that are run again for their diffs."""

    episodes: Annotated[int, Field(ge=0)] = 20
    state_diffs: Annotated[int, Field(ge=0)] = 500
    title: str = "PROVE pipeline"


def load_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping.

    Raises:
        ParamsError: the file is missing, not YAML, or no mapping.
    """
    try:
        loaded = read_yaml(path.read_bytes())
    except FileNotFoundError:
        raise ParamsError(f"{path} is missing: run from the repository's root") from None
    except OSError as error:
        raise ParamsError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
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
    for place in _secrets(loaded):
        raise ParamsError(f"{path}: {place}: {_NO_SECRETS}")
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
    except (TypeError, ValueError) as error:
        raise ParamsError(f"{where}: {error}") from None


def params_hash(block: BaseModel) -> str:
    """Digest of a block's values, 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(block.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()[:16]


def _complaint(kind: type[BaseModel], item: Any, where: str) -> str:
    path = ".".join(str(part) for part in item["loc"])
    if item["type"] != "extra_forbidden":
        return f"{where}.{path}: {item['msg']}, found {str(item['input'])[:80]!r}"
    if _SECRET.search(str(item["loc"][-1])):
        return f"{where}.{path}: {_NO_SECRETS}"
    known = _keys_at(kind, item["loc"][:-1])
    return f"{where}.{path}: unknown key; {_advice(str(item['loc'][-1]), known)}"


def _secrets(block: dict[Any, Any], prefix: str = "") -> Iterator[str]:
    """The places of keys, at any depth, that are named like a secret."""
    for name, value in block.items():
        if _SECRET.search(str(name)):
            yield f"{prefix}{name}"
        elif isinstance(value, dict):
            yield from _secrets(value, f"{prefix}{name}.")


def _advice(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"


def _keys_at(kind: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    parts = list(path)
    while parts:
        field = kind.model_fields.get(str(parts.pop(0)))
        annotation = field.annotation if field else None
        if get_origin(annotation) is dict:  # a mapping of names to blocks: the next part is the name
            annotation, parts = get_args(annotation)[1], parts[1:]
        blocks = [a for a in (annotation, *get_args(annotation)) if isinstance(a, type) and issubclass(a, BaseModel)]
        if not blocks:
            return []
        kind = blocks[0]
    return list(kind.model_fields)
