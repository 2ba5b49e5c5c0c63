"""Profiles: overlays that are merged and checked, and workspaces that leave the default run alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stages import profile
from stages.params import BLOCKS, ParamsError, load_params
from stages.profile import KINDS, load_profile, merged, prepare

ROOT = Path(__file__).parents[2]
STAGE = """\
import sys, pathlib, yaml
name, out = sys.argv[1:]
pathlib.Path(out).mkdir(parents=True, exist_ok=True)
pathlib.Path(out, "made.txt").write_text(str(yaml.safe_load(open("params.yaml"))[name]))
"""
PIPELINE = """\
stages:
  discover: {cmd: python stages/run.py discover data/graph, deps: [stages], params: [discover], outs: [data/graph]}
  validate:
    cmd: python stages/run.py validate data/dataset
    deps: [stages, data/graph]
    params: [validate]
    outs: [data/dataset]
  train: {cmd: python stages/run.py train data/policy, deps: [data/dataset], params: [train], outs: [data/policy]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A repository with a pipeline of three small stages."""
    (tmp_path / "stages").mkdir()
    (tmp_path / "profiles").mkdir()
    (tmp_path / "stages" / "run.py").write_text(STAGE)
    (tmp_path / "dvc.yaml").write_text(PIPELINE.replace("cmd: python", f"cmd: {sys.executable}"))
    (tmp_path / ".dvcignore").write_text("__pycache__\n")
    (tmp_path / "params.yaml").write_text(
        "seed: 7\ndiscover: {chains: 10}\nvalidate: {near_duplicate: 0.7}\ntrain: {}\n"
    )
    (tmp_path / "profiles" / "mine.yaml").write_text("until: validate\nvalidate: {near_duplicate: 0.6}\n")
    yield tmp_path


def test_mappings_are_merged_and_the_rest_is_replaced() -> None:
    base = {"seed": 7, "a": {"x": 1, "y": {"z": 2, "w": 3}, "list": [1, 2]}, "b": None}
    over = {"a": {"y": {"z": 5}, "list": [9]}, "b": {"c": 1}}
    assert merged(base, over) == {"seed": 7, "a": {"x": 1, "y": {"z": 5, "w": 3}, "list": [9]}, "b": {"c": 1}}
    assert base["a"] == {"x": 1, "y": {"z": 2, "w": 3}, "list": [1, 2]}, "the base is left alone"


def test_every_block_is_checked() -> None:
    assert set(KINDS) == set(BLOCKS)


@pytest.mark.parametrize("path", sorted((ROOT / "profiles").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_profiles_of_the_repository_are_sound(path: Path) -> None:
    found = load_profile(path.stem, ROOT)
    assert found.document.keys() >= load_params(ROOT / "params.yaml").keys()
    target = "train-verl" if found.document["train"].get("engine") == "verl" else "repro"
    assert f"make {target} PROFILE={path.stem}" in path.read_text()


def test_paper_data_asks_for_the_papers_mix_and_more_than_is_kept() -> None:
    found = load_profile("paper-data", ROOT)
    asked, kept = found.document["synthesize"], found.document["validate"]["quota"]
    assert found.until == "validate"
    assert kept == {"multi_turn": 10_895, "clarification": 1_500, "abstention": 1_122} and sum(kept.values()) == 13_517
    for kind in ("clarification", "abstention"):
        assert asked["conversations"] * asked["mix"][kind] > 1.2 * kept[kind]
    multi_turn = asked["conversations"] * (1 - sum(asked["mix"].values()))
    assert multi_turn > 1.2 * kept["multi_turn"]
    assert (asked["distractors"], asked["distractor_rate"], asked["enum_strip_rate"]) == ([3, 8], 0.4, 0.3)
    assert (asked["irrelevance_rate"], asked["missing_function_rate"]) == (0.05, 0.12)
    assert asked["information"] == {"complete": 0.6, "missing": 0.2, "minimal": 0.2}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("validate: {near_duplicat: 0.6}", "validate.near_duplicat: unknown key; did you mean 'near_duplicate'?"),
        ("validat: {near_duplicate: 0.6}", "unknown block 'validat'; did you mean 'validate'?"),
        ("validate: {near_duplicate: 7}", "validate.near_duplicate"),
        ("until: valid", "until: unknown stage 'valid'"),
        ("- a\n- b", "must hold a mapping"),
    ],
)
def test_a_bad_profile_is_refused_with_the_file_and_the_key(project: Path, text: str, complaint: str) -> None:
    (project / "profiles" / "bad.yaml").write_text(text)
    with pytest.raises(ParamsError) as error:
        load_profile("bad", project)
    assert complaint in str(error.value) and "bad.yaml" in str(error.value)


@pytest.mark.parametrize("name", ["mime", "../mine", "", "MINE", "a" * 5000])
def test_an_unknown_profile_is_refused(project: Path, name: str) -> None:
    with pytest.raises(ParamsError, match="unknown profile"):
        load_profile(name, project)


def test_the_workspace_holds_the_effective_parameters_and_links_to_the_code(project: Path) -> None:
    before = (project / "params.yaml").read_bytes()
    work = prepare(load_profile("mine", project), project)
    assert load_params(work / "params.yaml")["validate"] == {"near_duplicate": 0.6}
    assert load_params(work / "params.yaml")["discover"] == {"chains": 10}
    assert (work / "stages" / "run.py").read_text() == STAGE
    assert (project / "params.yaml").read_bytes() == before
    assert (work / ".cache").is_dir(), "on a fresh clone too, where nothing has been cached yet"
    assert prepare(load_profile("mine", project), project) == work, "a second time changes nothing"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_dvc_runs_what_is_stale_beside_the_default_run(project: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=project, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    run("dvc", "init", "-q")
    run("dvc", "repro")
    first = run("stages.profile", "mine")
    assert "Stage 'discover' is cached" in first and "Running stage 'validate'" in first and "'train'" not in first
    made = (project / profile.RUNS / "mine" / "data" / "dataset" / "made.txt").read_text()
    assert "0.6" in made and "0.7" in (project / "data" / "dataset" / "made.txt").read_text()
    assert "Running stage" not in run("stages.profile", "mine")
    assert "Running stage 'train'" in run("stages.profile", "mine", "--until", "train")
    (project / "profiles" / "mine.yaml").write_text("validate: {near_duplicate: 0.5}\n")
    again = run("stages.profile", "mine", "--until", "validate")
    assert "Running stage 'validate'" in again and "Running stage 'discover'" not in again
    status = subprocess.run(["git", "status", "--short"], cwd=project, capture_output=True, text=True, check=True)
    assert "runs/" not in status.stdout
