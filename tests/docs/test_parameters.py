"""Parameters, files and code that pages show are accepted by the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel

from flows.grid import Grid
from stages.params import check_block, load_params
from stages.profile import KINDS, merged
from tests.docs.reading import ROOT, Page, pages

BLOCKS = {*KINDS, "seed"}
FILES = ("json", "jsonl", "md", "parquet", "py", "yaml", "html", "svg", "png", "lock", "log")
PLACE = re.compile(r"(servers|stages|flows|tests|profiles|docs)/[a-z0-9_./-]*\.(py|yaml|md|sh|html)")
PLACE_OF_MADE = re.compile(r"`([\w/]+\.py)`[^`]*```python")
HERE = [page for page in pages() if page.fences("yaml", "python") or page.spans()]


@pytest.mark.parametrize("page", HERE, ids=lambda page: page.name)
def test_yaml_is_accepted(page: Page) -> None:
    for body in page.fences("yaml"):
        document = yaml.safe_load(body)
        if not isinstance(document, dict):
            continue
        if set(document) <= BLOCKS:
            accepted(document)
        elif "cells" in document:
            grid = Grid.model_validate(document)
            for cell in grid.cells.values():
                accepted(merged(grid.base, cell))


def accepted(overlay: Mapping[str, Any]) -> None:
    """Raises what the program would say about these blocks over `params.yaml`."""
    document = merged(load_params(ROOT / "params.yaml"), overlay)
    for block in set(overlay) & set(KINDS):
        check_block(KINDS[block], document[block], block)


@pytest.mark.parametrize("page", HERE, ids=lambda page: page.name)
def test_keys_exist(page: Page) -> None:
    keys = (re.match(r"([a-z_0-9]+(?:\.[a-z_0-9]+)+)(?=$|[:= ])", span) for span in page.spans())
    unknown = [match[1] for match in keys if match and not known(match[1])]
    assert unknown == []


def known(key: str) -> bool:
    """Whether a dotted name is a parameter, or is none of them to begin with."""
    block, *names = key.split(".")
    if block not in KINDS or names[-1] in FILES:
        return True
    kind: Any = KINDS[block]
    for name in names:
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            return True
        if name not in kind.model_fields:
            return False
        kind = bare(kind.model_fields[name].annotation)
    return True


def bare(annotation: Any) -> Any:
    """A type without its constraints and without None."""
    if get_origin(annotation) is Annotated:
        return bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return bare(next(arg for arg in get_args(annotation) if arg is not type(None)))
    return annotation


@pytest.mark.parametrize("page", HERE, ids=lambda page: page.name)
def test_files_exist(page: Page) -> None:
    made = set(PLACE_OF_MADE.findall(page.text))
    named = {match[0] for span in page.spans() if (match := PLACE.match(span))}
    assert [name for name in sorted(named - made) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", HERE, ids=lambda page: page.name)
def test_python_imports_what_there_is(page: Page) -> None:
    made = {Path(name).with_suffix("").as_posix().replace("/", ".") for name in PLACE_OF_MADE.findall(page.text)}
    for body in page.fences("python"):
        for node in ast.walk(ast.parse(body)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module not in made:
                room = node.module.split(".")[0]
                ours = room in ("servers", "stages", "flows", "tests")
                spec = find_spec(node.module if ours else room)
                assert spec, f"{page.name}: no module {node.module}"
                source = Path(str(spec.origin)).read_text(encoding="utf-8") if ours else ""
                missing = [name.name for name in node.names if ours and not re.search(rf"\b{name.name}\b", source)]
                assert missing == [], f"{page.name}: {node.module}"


def test_unknown_parameters_are_found() -> None:
    assert known("train.grpo.kl") and known("teacher.roles.reflector.model") and known("train.parquet")
    assert not known("train.grpo.kll") and not known("train.grop.kl")
    with pytest.raises(Exception, match="coverag"):
        accepted({"reward": {"weights": {"coverag": 0}}})
