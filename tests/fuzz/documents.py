"""Readers of YAML that a person writes: parameters, profiles, grids, and how people ask for tools."""

from __future__ import annotations

import contextlib
import json
import tempfile
from functools import cache
from pathlib import Path

from flows.grid import load_grid
from servers.kernel.catalog import load_catalog
from servers.kernel.errors import HarnessError
from servers.kernel.requests import parse_requests
from stages.params import ParamsError, check_block, load_params, params_hash
from stages.profile import KINDS, load_profile
from tests.fuzz.target import Target

ROOT = Path(__file__).parents[2]
BOMB = b"a: &a [x, x, x, x, x, x, x, x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + n, 98 + n, b", ".join([b"*%c" % (97 + n)] * 8)) for n in range(9)
)
MERGES = b"a: &a {k0: 1}\n" + b"".join(
    b"%c: &%c {k%d: 1, <<: [%s]}\n" % (98 + n, 98 + n, n, b", ".join([b"*%c" % (97 + n)] * 8)) for n in range(9)
)
ODD = (
    b"seed: 2026-13-45",
    b"seed: 0b",
    b"seed: " + b"9" * 4_400,
    b"seed: &a [*a]",
    b"report: &a {title: *a}",
    b"report: {1: 2, true: 3, null: 4, 1.5: 5, 2026-01-01: 6}",
    b"report: {? [a, b] : c}",
    b'report: {title: "\\ud800"}',
    b"report: {title: 2026-01-01}",
    b"report: {title: !!binary aGk=}",
    b"report: {title: !!python/object/apply:os.getcwd []}",
    b"report: {episodes: .inf}",
    b"teacher: {timeout: .nan}",
    b"seed: 1\x00",
    b"\xff\xfe\x00s",
    b"\xe9: 1",
    b"--- 1\n--- 2\n",
    b"%YAML 9.9\n--- {}",
    b"seed: " + b"[" * 2_000,
    b"<<: 3",
    b"",
    BOMB,
    MERGES,
)


@cache
def _scratch() -> Path:
    """A directory in memory, where there is one, with what a profile needs beside it."""
    memory = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.is_dir() else None))
    (place / "profiles").mkdir()
    for name in ("params.yaml", "dvc.yaml"):
        (place / name).write_bytes((ROOT / name).read_bytes())
    return place


def params(data: bytes) -> None:
    """`params.yaml`: its blocks, or a ParamsError; what is accepted can be hashed and written as JSON."""
    path = _scratch() / "given.yaml"
    path.write_bytes(data)
    with contextlib.suppress(ParamsError):
        document = load_params(path)
        for name, kind in KINDS.items():
            with contextlib.suppress(ParamsError):
                block = check_block(kind, document.get(name, {}), name)
                params_hash(block)
                json.dumps(block.model_dump(mode="json"), allow_nan=False).encode()


def profile(data: bytes) -> None:
    """A profile over `params.yaml`."""
    (_scratch() / "profiles" / "given.yaml").write_bytes(data)
    with contextlib.suppress(ParamsError):
        load_profile("given", _scratch())


def grid(data: bytes) -> None:
    """A grid of training runs."""
    path = _scratch() / "grid.yaml"
    path.write_bytes(data)
    with contextlib.suppress(ParamsError):
        load_grid(str(path))


def requests(data: bytes) -> None:
    """A server's `requests.yaml`."""
    with contextlib.suppress(HarnessError):
        parse_requests(data, load_catalog(("banking",)).servers["banking"])


PARAMS = Target("params", ((ROOT / "params.yaml").read_bytes(), *ODD), params)
PROFILE = Target(
    "profile",
    (
        b"until: validate\nsynthesize: {conversations: 3}\n",
        b"until: [validate]",
        b"until: {a: b}",
        b"until: 3",
        b"1: {}",
        b"? [a]\n: {}",
        *((ROOT / "profiles" / f"{name}.yaml").read_bytes() for name in ("smoke", "prove")),
        *ODD,
    ),
    profile,
)
GRID = Target(
    "grid",
    (
        b"baseline: a\nseeds: [0, 1]\ncells: {a: {}, b: {train: {grpo: {kl: 0.1}}}}\nseeds_of: {b: [2]}\n",
        b"baseline: a\nseeds: []\ncells: {b: 3}",
        (ROOT / "flows/grids/rewards.yaml").read_bytes(),
        *ODD,
    ),
    grid,
)
REQUESTS = Target(
    "requests",
    (
        (ROOT / "servers/banking/requests.yaml").read_bytes(),
        b"list_accounts: {ask: [a, b, c, d]}",
        b"list_accounts: {ask: ['{', '}', '{a!x}', '{0}']}",
        b"list_accounts: 3",
        b"- list_accounts",
        b"1: {ask: [a, b, c, d]}",
        *ODD,
    ),
    requests,
)
