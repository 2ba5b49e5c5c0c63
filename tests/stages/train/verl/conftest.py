from __future__ import annotations

from typing import Any

import pytest

from servers.kernel.catalog import Catalog, load_catalog
from stages.chat import ChatFormat, chat_format
from stages.train.verl.limits import Limits
from tests.stages.train.verl.small import build_tokenizer, texts

LIMITS = Limits(
    prompt=600,
    response=1_200,
    context=1_800,
    reply=120,
    tool_response=600,
    rounds=4,
    call_seconds=5.0,
    episode_seconds=20.0,
)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog(("banking",))


@pytest.fixture(scope="session")
def tokenizer(catalog: Catalog) -> Any:
    return build_tokenizer(texts(catalog))


@pytest.fixture
def chat(tokenizer: Any) -> ChatFormat:
    return chat_format(tokenizer)


@pytest.fixture
def limits() -> Limits:
    return LIMITS
