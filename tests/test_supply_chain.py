"""What is installed is what the locks name, by its digest; licences are judged; nothing loads code out of data."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pydantic import ValidationError

from stages.tracking.models import WeightsFile
from tests.supply import audit, licences

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-torch.lock", "requirements-nodeps.lock", "requirements-build.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_PINNED = re.compile(r"[a-z0-9][a-z0-9._-]*==\S+")
_DIGEST = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


def locked(*names: str) -> dict[str, str]:
    """The versions that locks pin for this machine."""
    found = {}
    for name in names:
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if _PINNED.match(line):
                requirement = Requirement(line.removesuffix("\\"))
                if requirement.marker is None or requirement.marker.evaluate():
                    found[canonicalize_name(requirement.name)] = next(iter(requirement.specifier)).version
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_of_a_lock_has_a_digest_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    for block in re.split(r"\n(?=[a-z0-9])", text)[1:]:
        assert _PINNED.match(block) and _DIGEST.search(block), block.partition("\n")[0]
    assert "://" not in text and " @ " not in text


def test_every_requirement_of_the_project_is_locked_at_its_own_pin() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *(line for extra in extras.values() for line in extra)]
    for name in ("requirements-nodeps.txt", "requirements-bench.txt"):
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        wanted += [line for line in lines if line and not line.startswith("#")]
    versions = locked(*LOCKS)
    for line in wanted:
        requirement = Requirement(line)
        version = versions.get(canonicalize_name(requirement.name))
        assert version and requirement.specifier.contains(version, prereleases=True), f"{line}: run make lock"


def needed() -> dict[str, str]:
    """Installed packages that the project's default and development requirements lead to, with their versions."""
    found: dict[str, str] = {}
    waiting = [("prove-pipeline", "dev")]
    while waiting:
        name, extra = waiting.pop()
        for line in metadata.requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
                continue
            own = canonicalize_name(requirement.name)
            try:
                version = metadata.version(own)
            except metadata.PackageNotFoundError:
                continue
            if own not in found:
                found[own] = version
                waiting += [(own, ""), *((own, each) for each in requirement.extras)]
    return found


def test_what_runs_here_is_what_the_locks_name() -> None:
    versions, found = locked(*LOCKS), needed()
    assert len(found) > 150
    assert {"torch", "mcp", "litellm"} <= found.keys()
    for name, version in found.items():
        assert name in versions, f"{name} is installed and in no lock: run make lock"
        assert version.partition("+")[0] == versions[name], f"{name} {version}: run make setup"


@pytest.mark.parametrize("target", ["setup", "setup-bench", "setup-verl"])
def test_set_up_checks_digests_of_all_that_it_installs(target: str) -> None:
    shown = subprocess.run(
        ["make", "--always-make", "--dry-run", "PIP_FIND_LINKS=", target],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    installs = [line for line in shown.replace("\\\n", " ").splitlines() if "pip install" in line]
    assert installs
    for line in installs:
        assert "--require-hashes" in line or ("--verify-hashes" in line and "-c requirements-torch.lock" in line), line
    assert "gpu" not in shown and "UV_NO_VERIFY" not in shown


def test_a_file_with_another_digest_is_refused(tmp_path: Path) -> None:
    """The installer's own behaviour that set-up rests on: digests in a constraints file count, without a network."""
    wheel = tmp_path / "tiny-1.0-py3-none-any.whl"
    make_wheel(wheel)
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)

    def install(digest: str) -> subprocess.CompletedProcess[str]:
        lock = tmp_path / "lock"
        lock.write_text(f"tiny==1.0 \\\n    --hash=sha256:{digest}\n")
        command = [uv, "pip", "install", "--offline", "--no-index", "--find-links", tmp_path, "--no-cache"]
        command += ["--python", tmp_path / "venv" / "bin" / "python", "--verify-hashes", "-c", lock, "tiny"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    refused = install("0" * 64)
    assert refused.returncode != 0 and "Hash mismatch" in refused.stderr
    assert install(hashlib.sha256(wheel.read_bytes()).hexdigest()).returncode == 0


def make_wheel(path: Path) -> None:
    import zipfile

    about = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
    kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.0.dist-info/METADATA", about)
        archive.writestr("tiny-1.0.dist-info/WHEEL", kind)
        archive.writestr("tiny-1.0.dist-info/RECORD", "")


RULES = PROJECT["tool"]["prove"]["licences"]


@pytest.mark.parametrize(
    ("licence", "good"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("Apache Software License; BSD License", True),
        ("Apache Software License; GNU General Public License (GPL)", False),
        ("GPL-3.0-only", False),
        ("LGPL-3.0-or-later", False),
        ("AGPL-3.0-only", False),
        ("UNKNOWN", False),
        ("Proprietary, see MIT", False),
        ("", False),
    ],
)
def test_a_licence_is_allowed_as_a_whole_or_not_at_all(licence: str, good: bool) -> None:
    assert licences.allowed(licence, RULES["allow"]) is good
    complaints = licences.judge([licences.Package("p", "1", licence)], RULES["allow"], {})
    assert bool(complaints) is not good and licences.judge([licences.Package("p", "1", licence)], (), {"p": "x"}) == []


def test_no_copyleft_licence_is_allowed_for_all_packages() -> None:
    assert not [name for name in RULES["allow"] if re.search(r"GPL|GNU|MPL|EPL|CDDL|SSPL|BUSL", name)]


FAULTY = {"dependencies": [
    {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2"]}]},
    {"name": "b", "skip_reason": "unknown"},
]}  # fmt: skip


def answers(monkeypatch: pytest.MonkeyPatch, *reports: audit.Answer) -> None:
    waiting = list(reports)
    monkeypatch.setattr(audit, "ask", lambda locks: waiting.pop(0))


KNOWN = audit.Answer({"dependencies": [{"name": "uv", "version": "1", "vulns": []}]})


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        (audit.Answer(None, "Name or service not known"), "Name or service not known"),
        (audit.Answer({"dependencies": [{"name": "uv", "skip_reason": "no"}]}), "does not know uv"),
    ],
)
def test_without_the_service_it_says_that_nothing_was_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], probe: audit.Answer, why: str
) -> None:
    answers(monkeypatch, probe)
    assert audit.main() == 0
    told = capsys.readouterr().out
    assert "not checked: no network" in told and why in told


def test_a_known_fault_fails_the_linter_unless_it_is_ignored_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(monkeypatch, KNOWN, audit.Answer(FAULTY))
    assert audit.main() == 1
    told = capsys.readouterr().out
    assert "a 1: PYSEC-1, mended in 2" in told and "do not know" not in told and "not checked" in told
    assert audit.Answer(FAULTY).faults(["CVE-1"]) == [] == audit.Answer(FAULTY).faults(["PYSEC-1"])
    answers(monkeypatch, KNOWN, audit.Answer(None, "locks cannot be read"))
    assert audit.main() == 1


UNSAFE = {
    "eval": "runs text as code", "exec": "runs text as code", "compile": "makes code of text",
    "__import__": "imports by name",
}  # fmt: skip
UNSAFE_MODULES = ("pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal")
UNSAFE_ATTRIBUTES = {
    ("os", "system"), ("os", "popen"), ("subprocess", "getoutput"), ("subprocess", "getstatusoutput"),
    ("yaml", "load"), ("yaml", "full_load"), ("yaml", "unsafe_load"), ("yaml", "load_all"),
    ("pd", "read_pickle"), ("pandas", "read_pickle"),
}  # fmt: skip
EXCEPTIONS = {
    # Ray carries orders between processes of one run by pickling in any case; nothing of them is ever read from a file
    "stages/synthesize/workers.py": Counter({"import pickle": 1}),
}


def findings(tree: ast.AST) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found.update(f"import {name}" for name in names if name.split(".")[0] in UNSAFE_MODULES)
        if not isinstance(node, ast.Call):
            continue
        given = {word.arg: word.value for word in node.keywords}
        if isinstance(node.func, ast.Name) and node.func.id in UNSAFE:
            found[node.func.id] += 1
        if isinstance(node.func, ast.Attribute):
            owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            pair = (owner, node.func.attr)
            if pair in UNSAFE_ATTRIBUTES and not safe_loader(given):
                found[".".join(pair)] += 1
            if pair == ("torch", "load") and not true(given.get("weights_only")):
                found["torch.load without weights_only"] += 1
        found.update(f"{name}=True" for name in ("shell", "allow_pickle", "trust_remote_code") if true(given.get(name)))
    return found


def true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def safe_loader(given: dict[str | None, ast.expr]) -> bool:
    loader = given.get("Loader")
    return isinstance(loader, ast.Attribute) and loader.attr in ("SafeLoader", "CSafeLoader")


def test_nothing_turns_data_into_code() -> None:
    seen = 0
    for room in ("servers", "stages", "flows"):
        for path in sorted((ROOT / room).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            found = findings(ast.parse(path.read_text(encoding="utf-8")))
            assert found == EXCEPTIONS.get(place, Counter()), f"{place}: {dict(found)}"
            seen += 1
    assert seen > 300


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from joblib import load", "eval(x)", "exec(x)", "os.system(x)", "yaml.load(x)",
        "yaml.load(x, Loader=yaml.Loader)", "torch.load(x)", "torch.load(x, weights_only=False)",
        "np.load(x, allow_pickle=True)", "subprocess.run(x, shell=True)", "f(trust_remote_code=True)",
    ],
)  # fmt: skip
def test_the_search_finds(source: str) -> None:
    assert sum(findings(ast.parse(source)).values()) == 1


def test_the_search_lets_pass_what_is_safe() -> None:
    safe = "yaml.load(x, Loader=yaml.SafeLoader); yaml.safe_load(x); torch.load(x, weights_only=True); model.eval()"
    assert not findings(ast.parse(f"{safe}; re.compile(x); json.loads(x)"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_model_that_brings_code_is_refused_without_a_question(tmp_path: Path) -> None:
    """Transformers would ask on a terminal whether to run it; nobody is asked, and it does not run."""
    from stages.artifacts import ArtifactError
    from stages.train.config import PolicyConfig
    from stages.train.policy import load_chat

    marker = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w')\nclass Evil: pass\n")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil"}}))
    brings = {"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["evil.Evil", None]}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(brings))
    with pytest.raises(ArtifactError, match="can be loaded") as caught:
        load_chat(PolicyConfig(base=str(tmp_path)))
    assert "Do you wish" not in str(caught.value) and not marker.exists()
    for place in ("stages/train/policy.py", "stages/tracking/served.py"):
        for node in ast.walk(ast.parse((ROOT / place).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("from_pretrained"):
                given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert "gguf_file" in given or given.get("trust_remote_code") == "False", ast.unparse(node)


def test_every_test_that_the_threat_model_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 40
    for file, test in named:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {test}" in source, f"{file}::{test}"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "", "..", "."])
def test_a_logged_model_names_files_of_its_own_directory_alone(name: str) -> None:
    """Loading it makes links by these names, and its description may come from anybody's tracking server."""
    good = {"name": "a/model.safetensors", "size": 1, "md5": "0" * 32}
    assert WeightsFile(**good).name == "a/model.safetensors"
    with pytest.raises(ValidationError, match="inside the policy's directory"):
        WeightsFile(**{**good, "name": name})
    with pytest.raises(ValidationError, match="md5"):
        WeightsFile(**{**good, "md5": "../../../../etc/passwd"})
