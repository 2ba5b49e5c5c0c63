"""Policies in the registry: by reference, once for the same weights, `best` by held-out reward on the same rows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stages.episodes import ScoredEpisode
from stages.records import EpisodeRecord
from stages.reward.combine import RewardRecord
from stages.tracking import Tracker
from stages.tracking.digest import md5
from stages.tracking.models import (
    BEST,
    REGISTERED,
    Reference,
    WeightsFile,
    licence_of,
    log_policy,
    promote_policy,
    reference_to,
)
from stages.tracking.served import WeightsError, located

ROOT = Path(__file__).parents[3]
DOCUMENT = {"bootstrap": {"policy": "smollm2-135m-instruct"}, "reward": {"alpha": 0.5}}


def weights(directory: Path, content: bytes) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "model.safetensors").write_bytes(content)
    (directory / "config.json").write_text("{}")
    return directory


def episode(row: str, total: float, *, masked: bool = False) -> ScoredEpisode:
    record = EpisodeRecord((), (), "hash", "infrastructure" if masked else "answered")
    reward = RewardRecord(total=total, masked=masked)
    return ScoredEpisode("policy", row, 0, "multi_turn", "banking", (), (), record, "hash", (), reward)


@pytest.mark.timeout(150)
def test_versions_and_the_alias(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.chdir(tmp_path)
    big = os.urandom(3_000_000)

    def step(content: bytes, reward: float | None = None, row: str = "row-1", alpha: float = 0.5) -> None:
        policy, document = weights(tmp_path / "policy", content), {**DOCUMENT, "reward": {"alpha": alpha}}
        tracker = Tracker("train" if reward is None else "evaluate")
        if reward is None:
            log_policy(tracker, policy, document)
        else:
            promote_policy(tracker, policy, document, [episode(row, reward), episode("masked", 9.0, masked=True)])
        tracker.close("FINISHED")

    step(big)
    step(big)
    from mlflow.tracking import MlflowClient

    client = MlflowClient()

    def best() -> int:
        return int(client.get_model_version_by_alias(REGISTERED, BEST).version)

    assert len(client.search_model_versions(f"name = '{REGISTERED}'")) == 1, "the same weights are one version"
    step(big, 0.5)
    assert best() == 1
    step(b"worse", 0.4)
    assert best() == 1 and len(client.search_model_versions(f"name = '{REGISTERED}'")) == 2
    tracker = Tracker("evaluate")
    promote_policy(tracker, tmp_path / "policy", DOCUMENT, [episode("masked", 9.0, masked=True)])
    tracker.close("FINISHED")
    assert best() == 1, "nothing was measured"
    step(b"better", 0.6)
    assert best() == 3
    step(big, 0.55)
    assert best() == 3
    step(b"worse", 0.1, "row-2")
    assert best() == 2, "rewards on other rows do not compare: the first on them takes the alias"
    step(big, 0.05, "row-2", alpha=0.9)
    assert best() == 1, "nor do rewards of another kind"

    found = client.get_logged_model(client.get_model_version(REGISTERED, "1").source.removeprefix("models:/"))
    assert found.tags["license"] == "apache-2.0" and str(found.status) == "READY"
    kept = [path for path in (tmp_path / "mlruns").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in kept) < 100_000, "weights are referred to, not copied"
    described = next(path for path in kept if path.name == "MLmodel").read_text()
    assert "stages.tracking.served" in described and "signature" in described and "license: apache-2.0" in described


def test_licences(tmp_path: Path) -> None:
    assert licence_of(tmp_path, "smollm2-135m-instruct") == "apache-2.0"
    assert licence_of(tmp_path, "someone/model") == "unknown: that of the base model"
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\ntext")
    assert licence_of(tmp_path, "someone/model") == "mit"


def test_replaced_weights_come_from_the_cache_and_missing_ones_are_told(tmp_path: Path) -> None:
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc" / "config").write_text("[core]\n    no_scm = true\n")
    policy = weights(tmp_path / "policy", b"first")
    reference = reference_to(policy, {})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert located(reference, scratch, tmp_path) == policy
    (policy / "model.safetensors").write_bytes(b"after")
    with pytest.raises(WeightsError, match=r"dvc pull data/policy"):
        located(reference, scratch, tmp_path)
    shutil.rmtree(scratch)
    scratch.mkdir()
    for name, content in (("model.safetensors", b"first"), ("config.json", b"{}")):
        (tmp_path / "loose").write_bytes(content)
        digest = md5(tmp_path / "loose")
        place = tmp_path / ".dvc" / "cache" / "files" / "md5" / digest[:2] / digest[2:]
        place.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "loose").rename(place)
        assert WeightsFile(name=name, size=len(content), md5=digest) in reference.files
    assert located(reference, scratch, tmp_path) == scratch
    assert (scratch / "model.safetensors").read_bytes() == b"first"


LOAD = """
import json, sys
import mlflow, pandas
mlflow.set_tracking_uri("sqlite:///mlflow.db")
model = mlflow.pyfunc.load_model("models:/prove-policy@best")
tools = json.dumps([{"name": "list_accounts", "description": "List.", "parameters": {"type": "object"}}])
messages = json.dumps([{"role": "user", "content": "Which accounts do I have?"}])
asked = pandas.DataFrame({"tools": [tools, tools], "messages": [messages, messages]})
print(json.dumps(list(model.predict(asked)["reply"])))
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_best_policy_loads_by_its_alias_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.test_pipeline import TINY_MODEL

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    def program(text: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    program(TINY_MODEL)
    tracker = Tracker("evaluate")
    promote_policy(tracker, tmp_path / "tiny", DOCUMENT, [episode("row-1", 0.5)])
    tracker.close("FINISHED")
    first, second = (json.loads(reply) for reply in json.loads(program(LOAD).splitlines()[-1]))
    assert first == second and set(first) == {"content", "tool_calls"}


def test_the_digest_follows_contents_and_not_places(tmp_path: Path) -> None:
    made: list[Reference] = []
    for place, content in (("a", b"x"), ("b", b"x"), ("c", b"y")):
        made.append(reference_to(weights(tmp_path / place, content), {}))
    same, also, other = (reference.digest for reference in made)
    assert same == also != other
    with pytest.raises(FileNotFoundError, match="no weights in"):
        nothing: dict[str, Any] = {}
        reference_to(tmp_path / "gone", nothing)
