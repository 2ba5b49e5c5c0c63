"""The cache: whole requests as keys, usable answers only, and a file that survives damage and kills."""

from __future__ import annotations

import asyncio
import copy
import json
import multiprocessing
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from stages.artifacts import ArtifactError
from stages.params import TeacherParams
from stages.records import Message, ToolSpec
from stages.teacher.cache import Cache, digest
from stages.teacher.client import Completion, Shared, Teacher
from stages.teacher.errors import TeacherError
from stages.teacher.ledger import Ledger
from tests.stages.teacher.loopback import KEY, Provider, message, refusal, settings

REQUEST: dict[str, Any] = {
    "model": "openai/a",
    "messages": [{"role": "user", "content": "x"}],
    "temperature": 0.7,
    "max_tokens": 10,
    "seed": 1,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"a": {}, "b": {}}}}],
    "tool_choice": "auto",
    "response_format": {"type": "json_object"},
    "api_base": "http://one/v1",
}
FORK = multiprocessing.get_context("fork")


@pytest.mark.parametrize(
    "change",
    [
        {"model": "openai/b"}, {"messages": [{"role": "user", "content": "y"}]}, {"temperature": 0.8},
        {"temperature": None}, {"max_tokens": 11}, {"seed": 2}, {"tools": []}, {"tool_choice": "none"},
        {"tools": [{"type": "function", "function": {"name": "g", "parameters": {"a": {}, "b": {}}}}]},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"b": {}, "a": {}}}}]},
        {"response_format": {"type": "text"}}, {"api_base": "http://two/v1"}, {"extra": 1},
        {"messages": [{"role": "system", "content": "x"}]}, {"seed": 1.0}, {"seed": True}, {"seed": "1"},
    ],
)  # fmt: skip
def test_requests_that_differ_anywhere_have_distinct_keys(change: dict[str, Any]) -> None:
    before = copy.deepcopy(REQUEST)
    assert digest({**REQUEST, **change}) != digest(REQUEST)
    assert digest(copy.deepcopy(REQUEST)) == digest(REQUEST)
    assert before == REQUEST


def ask(provider: Provider, path: Path, ledger: Ledger | None = None, text: str = "hi", **changes: Any) -> Completion:
    cache = Cache(path)
    try:
        teacher = Teacher(settings(provider, **changes), shared=Shared(ledger or Ledger(), cache))
        tool = ToolSpec("f", "does f", {"type": "object", "properties": {}})
        return asyncio.run(teacher.complete([Message("user", text)], script={}, tools=[tool], seed=3))
    finally:
        cache.close()


def test_an_answer_is_paid_for_once_and_comes_back_whole(provider: Provider, tmp_path: Path) -> None:
    path, ledger = tmp_path / "deep" / "cache.sqlite", Ledger()
    provider.answer = lambda request, number: message("é", [("f", '{"a":  1}'), ("g", "{broken"), ("h", "[1]")])
    price = {"prompt": 1.0, "completion": 2.0}
    first = ask(provider, path, ledger, price=price)
    second = ask(provider, path, ledger, price=price)
    assert second == first and first.message.tool_calls[0].raw == '{"a":  1}'
    assert len(provider.requests) == 1
    assert (ledger.total.requests, ledger.total.cached) == (1, 1)
    assert ledger.total.cost == pytest.approx(17e-6)


@pytest.mark.parametrize("change", [{"model": "openai/other"}, {"temperature": 0.1}, {"max_tokens": 7}, {"text": "ho"}])
def test_a_changed_request_is_asked_anew(provider: Provider, tmp_path: Path, change: dict[str, Any]) -> None:
    ask(provider, tmp_path / "c")
    ask(provider, tmp_path / "c", **change)
    assert len(provider.requests) == 2


@pytest.mark.parametrize("bad", [refusal(500), refusal(400), message(""), message("cut", finish="length")])
def test_failures_are_never_kept(provider: Provider, tmp_path: Path, bad: Any) -> None:
    provider.answer = lambda request, number: bad if number == 0 else message("good")
    with pytest.raises(TeacherError):
        ask(provider, tmp_path / "c")
    assert ask(provider, tmp_path / "c").message.content == "good"


def test_neither_key_nor_prompt_is_in_the_file(provider: Provider, tmp_path: Path) -> None:
    ask(provider, tmp_path / "c", text="the prompt's own words")
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert provider.keys == {f"Bearer {KEY}"}
    assert KEY.encode() not in stored and b"own words" not in stored and b"fine" in stored


@pytest.mark.parametrize("damage", [b"not a database at all" * 300, None])
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], damage: bytes | None
) -> None:
    path = tmp_path / "c.sqlite"
    cache = Cache(path)
    for n in range(300):
        cache.put(f"{n:064d}", {"text": "x" * 200})
    cache.close()
    whole = path.read_bytes()
    path.write_bytes(damage or whole[:4096] + b"\xff" * (len(whole) - 4096))
    cache = Cache(path)
    assert cache.get(f"{7:064d}") is None
    cache.put("key", {"text": "new"})
    assert cache.get("key") == {"text": "new"}
    cache.close()
    assert (tmp_path / "c.sqlite.bad-0").exists()
    said = capfd.readouterr().err
    assert "c.sqlite is damaged" in said and "bad-0" in said


def test_a_file_that_cannot_be_used_is_named_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "c.sqlite"):
        with pytest.raises(ArtifactError, match=r"teacher.cache: .* cannot be used .* set teacher.cache to null"):
            Cache(path)


def _fill(path: Path, start: int, count: int, done: Path | None = None) -> None:
    cache = Cache(path)
    for n in range(start, start + count):
        cache.put(str(n), {"n": n})
        if done:
            done.write_text(str(n))


def test_a_killed_writer_loses_nothing_that_it_had_kept(tmp_path: Path) -> None:
    path, done = tmp_path / "c", tmp_path / "done"
    process = FORK.Process(target=_fill, args=(path, 0, 10**9, done))
    process.start()
    while not done.exists() or int(done.read_text() or 0) < 50:
        assert process.is_alive()
    process.kill()
    process.join()
    cache = Cache(path)
    kept = int(done.read_text() or 50)
    assert all(cache.get(str(n)) == {"n": n} for n in range(kept))
    cache.put("after", {})
    assert cache.get("after") == {}


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    processes = [FORK.Process(target=_fill, args=(tmp_path / "c", start, 150)) for start in (0, 100, 200, 300)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    with sqlite3.connect(tmp_path / "c") as check:
        assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert check.execute("SELECT count(*) FROM answers").fetchone() == (450,)


def test_the_first_answer_of_a_key_stays(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    cache.put("k", {"a": 1})
    cache.put("k", {"a": 2})
    assert cache.get("k") == {"a": 1}


def test_the_scripted_teacher_needs_no_cache(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    teacher = Teacher(TeacherParams(), shared=Shared(cache=cache))
    script = {"role": "details", "values": {"amount": "25"}, "parents": []}
    for _ in range(2):
        asyncio.run(teacher.complete([Message("user", json.dumps({}))], script=script))
    with sqlite3.connect(tmp_path / "c") as check:
        assert check.execute("SELECT count(*) FROM answers").fetchone() == (0,)
