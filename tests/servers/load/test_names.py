"""Names of sessions: only minted handles name one, by every way that a client has."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from servers.kernel.router import HANDLE_SHOWN, McpRouter
from tests.servers.load.processes import ServerProcess, serving

NAMES = (
    "a-b", "a_b", "a.b", "a/b", "A-B", "", "x" * 10_000, "../x", "é", "e\u0301", "/etc/passwd", "a\0b", "..%2fx",
    "0" * 32, "0" * 31 + "/", "*", " ", "\u0660" * 32, "0" * 32 + "\n", "0" * 32 + ".jsonl", "None", "null",
)  # fmt: skip


class Pair(NamedTuple):
    """Two servers with the session of each, and where they keep their journals."""

    one: ServerProcess
    other: ServerProcess
    mine: str
    foreign: str
    place: Path


@pytest.fixture(scope="module")
async def pair(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    place = tmp_path_factory.mktemp("journals")
    with (
        serving("--server", "banking", "--journal", str(place / "one")) as one,
        serving("--server", "banking", "--journal", str(place / "other")) as other,
    ):
        async with McpRouter(one.url) as here, McpRouter(other.url) as there:
            yield Pair(one, other, await here.open(), await there.open(), place)


def told(server: ServerProcess, method: str, handle: str) -> tuple[int, str]:
    """Status and message of a request that names a session in its path."""
    web = HTTPConnection("127.0.0.1", server.port, timeout=60)
    web.request(method, f"/sessions/{quote(handle, safe='')}")
    answer = web.getresponse()
    body = answer.read().decode()
    web.close()
    return answer.status, body


@pytest.mark.timeout(120)
async def test_every_other_name_is_refused_by_every_way(pair: Pair) -> None:
    async with McpRouter(pair.one.url) as router:
        before = await router.state_hash(pair.mine)
        near = (pair.mine[::-1], f" {pair.mine}", pair.mine[:-1], f"{pair.mine}0", f"{pair.mine}\0", f"{pair.mine}/")
        for name in (*NAMES, *near):
            answer = await router.call(name, "list_accounts", {})
            assert answer.infrastructure and not answer.ok, name
            for method in ("GET", "POST", "DELETE"):
                status, _ = told(pair.one, method, name)
                assert 400 <= status < 500, (method, name, status)
        assert await router.state_hash(pair.mine) == before
        assert (await router.call(pair.mine, "list_accounts", {})).ok
    assert pair.one.sessions() == 1
    named = {path.stem for path in pair.place.rglob("*") if path.suffix == ".jsonl"}
    assert named == {pair.mine, pair.foreign}, "no name but a handle became a file"


@pytest.mark.timeout(120)
async def test_a_foreign_handle_is_told_what_an_unknown_one_is(pair: Pair) -> None:
    unknown = "".join("0" if digit != "0" else "1" for digit in pair.foreign)
    async with McpRouter(pair.one.url) as router:
        answers = [await router.call(handle, "list_accounts", {}) for handle in (pair.foreign, unknown)]
        named = zip(answers, (pair.foreign, unknown), strict=True)
        texts = [a.text.replace(h, "H").replace(h[:HANDLE_SHOWN], "H") for a, h in named]
        assert texts[0] == texts[1] and answers[0].infrastructure
    for method in ("GET", "POST", "DELETE"):
        said = [told(pair.one, method, handle) for handle in (pair.foreign, unknown)]
        assert said[0][0] == said[1][0] == 404
        assert said[0][1].replace(pair.foreign, "H") == said[1][1].replace(unknown, "H")
        assert json.loads(said[0][1])["error"]
    assert told(pair.other, "GET", pair.foreign)[0] == 200, "at home it still works"
