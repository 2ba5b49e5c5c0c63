"""The loopback endpoint as a fixture, with a key in the environment and no proxy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stages.teacher.provider import load_litellm
from tests.stages.teacher.loopback import KEY, Provider, listening

load_litellm()  # takes many seconds on a busy machine, which are no test's own


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with listening() as endpoint:
        yield endpoint
