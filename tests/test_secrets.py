"""Keys planted in the environment come out nowhere: not in files, not in what is printed, not in process arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows import ui
from stages import artifacts
from stages.artifacts import DATA
from stages.discover.edges import CHAINS
from stages.params import ParamsError, SynthesizeParams, TeacherParams, check_block, load_params
from stages.profile import load_profile
from stages.stage import execute
from stages.synthesize import __main__ as stage
from stages.teacher import retry
from stages.teacher.errors import without_secrets
from stages.tracking import tracker_for
from tests.stages.synthesize.writing import SERVERS, catalog, chains
from tests.stages.teacher.conftest import provider  # noqa: F401  # a fixture
from tests.stages.teacher.loopback import KEY, Provider, Reply, ask, message, settings
from tests.stages.teacher.oracle import Oracle

COUNT = 14
PLANTED = {
    "OPENAI_API_KEY": KEY,
    "ANTHROPIC_API_KEY": "sk-ant-canary-61f0c2",
    "HOSTED_VLLM_API_KEY": "vllm-canary-8d71b4",
    "PROVE_GATEWAY_TOKEN": "gateway-canary-2f9e05",
    "HF_TOKEN": "hf_canaryCanary0193",
    "AWS_SECRET_ACCESS_KEY": "aws/canary+5c7d=",
    "MLFLOW_TRACKING_PASSWORD": "mlflow-canary-77aa",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stage, "SHARD_SIZE", 7)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PROVE_TRACKING", "on")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    stamp = artifacts.Stamp(catalog().fingerprint, "")
    rows = [{"id": c.id, "server": c.server, "tools": c.tools, "labels": c.labels} for c in chains()]
    artifacts.write_table(DATA / "graph" / "chains.parquet", CHAINS, rows, stamp)
    return tmp_path


def run(provider: Provider, **changes: Any) -> int:  # noqa: F811
    teacher = settings(provider, **{"attempts": 2, **changes}).model_dump(mode="json")
    document = {"seed": 7, "bootstrap": {"servers": list(SERVERS)}, "synthesize": {"conversations": COUNT}}
    Path("params.yaml").write_text(yaml.safe_dump({**document, "teacher": teacher}), encoding="utf-8")
    return execute("synthesize", SynthesizeParams, stage.main, Path("params.yaml"), tracker_for("synthesize"))


def leaks(directory: Path, *said: str) -> list[str]:
    """Where a planted key stands, in a file or in a text."""
    found = [f"{name} in {text[:80]}" for name, value in PLANTED.items() for text in said if value in text]
    for path in directory.rglob("*"):
        if path.is_file():
            stored = path.read_bytes()
            found += [f"{name} in {path}" for name, value in PLANTED.items() if value.encode() in stored]
    return found


class Parrot:
    """Good answers, with the request's own key in every text, as a hostile endpoint may say it."""

    def __init__(self) -> None:
        self.oracle = Oracle(COUNT)

    def __call__(self, request: dict[str, Any], number: int) -> Reply:
        reply = self.oracle(request, number)
        said = reply.body["choices"][0]["message"]
        if said.get("content"):
            said["content"] += f" Authorization: Bearer {KEY}"
        return reply


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_run_with_a_hosted_teacher_leaves_no_key_behind(
    provider: Provider,  # noqa: F811
    project: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    provider.answer = Parrot()
    assert run(provider) == 0
    assert provider.keys == {f"Bearer {KEY}"}, "the key reaches the endpoint, and is masked in what is kept"
    shown = capfd.readouterr()
    assert leaks(project, shown.out, shown.err, caplog.text) == []
    kept = {path.name for path in project.rglob("*") if path.is_file()}
    assert {"teacher.sqlite", "conversations.parquet", "mlflow.db"} <= kept
    stored = b"".join(path.read_bytes() for path in project.rglob("*") if path.is_file())
    assert b"<OPENAI_API_KEY>" in stored, "the endpoint's words were kept, so the mask is what hides the key"


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_an_endpoint_that_refuses_and_repeats_the_key_is_told_without_it(
    provider: Provider,  # noqa: F811
    project: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    provider.answer = lambda request, number: Reply(401, {"error": {"message": f"bad: Authorization: Bearer {KEY}"}})
    assert run(provider) == 1
    shown = capfd.readouterr()
    assert "<OPENAI_API_KEY>" in shown.err and leaks(project, shown.out, shown.err) == []


def test_a_key_in_the_answer_is_masked_in_text_and_calls(provider: Provider) -> None:  # noqa: F811
    provider.answer = lambda request, number: message(f"it is {KEY}", [("log_in", json.dumps({"key": KEY}))])
    said = ask(provider).message
    assert KEY not in repr(said)
    assert said.content == "it is <OPENAI_API_KEY>" and said.tool_calls[0].arguments == {"key": "<OPENAI_API_KEY>"}


def test_a_crash_shows_where_without_the_key(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVE_TRACKING", "off")

    def crash(ctx: Any) -> list[Path]:
        raise RuntimeError(f"request with {KEY} failed")

    Path("params.yaml").write_text("seed: 7\n")
    assert execute("synthesize", SynthesizeParams, crash, Path("params.yaml"), tracker_for("synthesize")) == 1
    told = capfd.readouterr().err
    assert "Traceback" in told and "in crash" in told and "<OPENAI_API_KEY>" in told and KEY not in told


@pytest.mark.parametrize("name", ["api_key", "openai_api_key", "token", "password", "client_secret"])
@pytest.mark.parametrize("where", ["teacher", "teacher.roles.user", "evaluate.policies.x"])
def test_a_key_in_the_parameters_is_refused_with_the_cure(tmp_path: Path, name: str, where: str) -> None:
    block: dict[str, Any] = {name: KEY}
    for part in reversed(where.split(".")):
        block = {part: block}
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(block))
    with pytest.raises(ParamsError, match=f"{where}.{name}: keys are never read from files.*environment") as caught:
        load_params(path)
    assert KEY not in str(caught.value)


def test_a_key_in_a_block_or_a_profile_is_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParamsError, match=r"teacher.api_key: keys are never read") as caught:
        check_block(TeacherParams, {"api_key": KEY}, "teacher")
    assert KEY not in str(caught.value)
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "own.yaml").write_text(yaml.safe_dump({"teacher": {"api_key": KEY}}))
    (tmp_path / "params.yaml").write_text("seed: 7\n")
    (tmp_path / "dvc.yaml").write_text("stages: {one: {cmd: 'true', deps: []}}\n")
    with pytest.raises(ParamsError, match="keys are never read"):
        load_profile("own", tmp_path)
    assert not (tmp_path / "runs").exists()


def test_no_program_gets_a_key_or_a_password_as_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody on the machine can read the arguments of every process."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:canary-pw-31@localhost/runs")
    server = ui.mlflow_server(5000)
    assert "canary-pw-31" not in " ".join(server.command)
    assert server.environment["MLFLOW_BACKEND_STORE_URI"].endswith("canary-pw-31@localhost/runs")
    model = {"model": "hosted_vllm/x", "serve": "vllm"}
    for arguments in (["--api-key", "x"], ["--api-key=x"]):
        with pytest.raises(ParamsError, match="VLLM_API_KEY"):
            check_block(TeacherParams, {**model, "serve_args": arguments}, "teacher")


def test_secrets_are_known_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
        assert without_secrets(f"a {value} b") == f"a <{name}> b"


def test_other_pages_in_the_browser_may_not_read_what_prefect_answers() -> None:
    server = ui.prefect_server(4242)
    assert server.environment["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] == server.address
    assert server.address == "http://127.0.0.1:4242"
