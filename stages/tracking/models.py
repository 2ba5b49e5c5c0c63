"""Trained policies as registered models, by reference: what they are is logged, their weights stay where they lie.

A logged model holds the names, sizes and MD5 of the weights' files, not the files: those are in the workspace, and
in DVC's cache under just these MD5. Each new set of weights is one version of the registered model `prove-policy`.
The alias `best` is on the version with the highest held-out reward among those that were measured on the same rows
under the same reward; a first measurement on other rows takes it, since rewards on different rows do not compare.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from stages.artifacts import write_text
from stages.params import BootstrapParams
from stages.tracking.digest import md5
from stages.tracking.tracker import Target, Tracker

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.models import ModelSignature
    from mlflow.tracking import MlflowClient

    from stages.episodes import ScoredEpisode

REGISTERED, BEST = "prove-policy", "best"
REFERENCE = "reference.json"
LOADER = "stages.tracking.served"
_REQUIREMENTS = ("torch", "transformers", "pydantic")
_PACKAGED_LICENCES = {BootstrapParams().policy: "apache-2.0"}
_UNKNOWN = "unknown: that of the base model"


def _inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts:
        raise ValueError("must be a path inside the policy's directory")
    return name


class WeightsFile(BaseModel):
    """One file of a policy; its name leads nowhere outside, whoever wrote the reference."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, AfterValidator(_inside)]
    size: int
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class Reference(BaseModel):
    """Which weights a logged model means.

    `directory` is where they lay when they were logged; they may have been replaced there since.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    directory: str
    base: str
    licence: str
    tool_summaries: bool
    files: tuple[WeightsFile, ...]

    @property
    def digest(self) -> str:
        """Digest of names and contents, 16 hexadecimal digits: equal for equal weights, wherever they lie."""
        told = "".join(f"{file.name}\0{file.md5}\n" for file in self.files)
        return hashlib.sha256(told.encode()).hexdigest()[:16]


def reference_to(weights: Path, document: Mapping[str, Any]) -> Reference:
    """The reference to a directory of weights that were trained under these parameters.

    Raises:
        FileNotFoundError: the directory is missing or empty.
    """
    found = sorted(path for path in weights.rglob("*") if path.is_file())
    if not found:
        raise FileNotFoundError(f"no weights in {weights}")
    base = str((document.get("bootstrap") or {}).get("policy", BootstrapParams().policy))
    summaries = ((document.get("train") or {}).get("policy") or {}).get("tool_summaries", True)
    files = tuple(WeightsFile(name=p.relative_to(weights).as_posix(), size=p.stat().st_size, md5=md5(p)) for p in found)
    return Reference(
        directory=str(weights.resolve()),
        base=base,
        licence=licence_of(weights, base),
        tool_summaries=bool(summaries),
        files=files,
    )


def licence_of(weights: Path, base: str) -> str:
    """The licence that a model card beside the weights or the base names, or that of the packaged model."""
    for card in (weights / "README.md", Path(base) / "README.md"):
        if card.is_file():
            parts = card.read_text(encoding="utf-8").split("---\n", 2)
            head = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0] else None
            if isinstance(head, dict) and head.get("license"):
                return str(head["license"])
    return _PACKAGED_LICENCES.get(base, _UNKNOWN)


def log_policy(tracker: Tracker, weights: Path, document: Mapping[str, Any]) -> None:
    """Register trained weights as a version of `prove-policy` when the run ends; the same weights only once."""

    def policy(target: Target) -> None:
        _version(target, reference_to(weights, document))

    tracker.attach(policy)


def promote_policy(
    tracker: Tracker, weights: Path, document: Mapping[str, Any], episodes: Sequence[ScoredEpisode]
) -> None:
    """Note a policy's held-out reward at its version, and move `best` there if it is the highest.

    Args:
        tracker: of the evaluation.
        weights: the policy's directory; weights that were never logged are registered now.
        document: all blocks of the parameters; `reward` says what was measured.
        episodes: its scored episodes on held-out rows; masked ones do not count. Without any, nothing moves.
    """
    rewards = [episode.reward.total for episode in episodes if not episode.reward.masked]
    if not rewards:
        return
    reward, measure = sum(rewards) / len(rewards), measure_of(episodes, document)

    def promotion(target: Target) -> None:
        version = _version(target, reference_to(weights, document))
        best = _best(target.client)
        for key, value in (("heldout", measure), ("heldout_reward", repr(reward))):
            target.client.set_model_version_tag(REGISTERED, version.version, key, value)
        comparable = best is not None and best.tags.get("heldout") == measure
        if best is None or not comparable or reward > float(best.tags["heldout_reward"]):
            target.client.set_registered_model_alias(REGISTERED, BEST, version.version)

    tracker.attach(promotion)


def measure_of(episodes: Sequence[ScoredEpisode], document: Mapping[str, Any]) -> str:
    """Digest of what was measured, 16 hexadecimal digits: the rows with their truth, and the reward's rules."""
    rows = sorted((e.row, e.truth_hash, e.required, [tool.name for tool in e.tools]) for e in episodes)
    told = json.dumps([rows, document.get("reward")], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _version(target: Target, reference: Reference) -> ModelVersion:
    """The version with these weights, registered now if there is none."""
    client = target.client
    if not client.search_registered_models(f"name = '{REGISTERED}'"):
        client.create_registered_model(REGISTERED, description="Policies of this pipeline, weights by reference.")
    known = client.search_model_versions(f"name = '{REGISTERED}' and tags.weights = '{reference.digest}'")
    if known:
        return max(known, key=lambda version: int(version.version))
    tags = {"weights": reference.digest, "license": reference.licence, "base": reference.base}
    model = client.create_logged_model(
        target.experiment, "policy", source_run_id=target.run, tags=tags, params=tags, model_type="policy"
    )
    with tempfile.TemporaryDirectory() as scratch:
        client.log_model_artifacts(model.model_id, str(_saved(Path(scratch), reference, target.run, model.model_id)))
    client.finalize_logged_model(model.model_id, "READY")
    return client.create_model_version(REGISTERED, model.model_uri, target.run, tags, model_id=model.model_id)


def _best(client: MlflowClient) -> ModelVersion | None:
    """The version that `best` is on; None before the first."""
    registered = client.get_registered_model(REGISTERED)
    if BEST not in registered.aliases:
        return None
    return client.get_model_version_by_alias(REGISTERED, BEST)


def _saved(scratch: Path, reference: Reference, run: str, model_id: str) -> Path:
    """The model as a directory in MLflow's format: its description and the reference, no weights."""
    from mlflow import pyfunc
    from mlflow.models import Model

    write_text(scratch / REFERENCE, reference.model_dump_json(indent=2))
    target = scratch / "model"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*input example", UserWarning)  # an example would load the weights
        pyfunc.save_model(
            path=str(target),
            loader_module=LOADER,
            data_path=str(scratch / REFERENCE),
            mlflow_model=Model(run_id=run, model_id=model_id),
            signature=signature(),
            pip_requirements=[f"{name}=={metadata.version(name)}" for name in _REQUIREMENTS],
            metadata={"license": reference.licence, "base": reference.base, "weights": reference.digest},
        )
    return target


def signature() -> ModelSignature:
    """What a policy takes and gives: a conversation and its tools as JSON text, the assistant's message likewise."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema

    taken = [ColSpec(DataType.string, name) for name in ("tools", "messages")]
    return ModelSignature(inputs=Schema(taken), outputs=Schema([ColSpec(DataType.string, "reply")]))
