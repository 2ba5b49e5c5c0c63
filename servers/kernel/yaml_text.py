"""YAML that people write, read so that a small file stays small in memory and every mistake is one kind of error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

LARGEST = 200_000
"""Nodes that a document may have with every alias written out."""

DEEPEST = 100
"""Brackets inside one another; the scanner's time grows with the square of them."""


class _Loader(yaml.SafeLoader):
    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:  # noqa: N803  # the library's name
        if self.flow_level >= DEEPEST:
            raise ValueError(f"brackets are nested deeper than {DEEPEST} levels")
        super().fetch_flow_collection_start(TokenClass)


def read_yaml(data: bytes) -> Any:
    """The one document in the data; None if there is none.

    Raises:
        ValueError: it is not UTF-8, not YAML, refers to itself, or is too large or too deep; says what is wrong.
    """
    try:
        loader = _Loader(data.decode("utf-8"))
        try:
            document = loader.get_single_node()
            if document is None:
                return None
            if _size(document, {}) > LARGEST:
                raise ValueError(f"with every alias written out it has more than {LARGEST} values")
            return loader.construct_document(document)
        finally:
            loader.dispose()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # of a value that belies its tag
        raise ValueError(f"a value does not fit its tag ({type(error).__name__}: {error})") from None


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """The nodes under this one, with every alias written out."""
    if id(node) not in known:
        known[id(node)] = 0
        known[id(node)] = 1 + sum(_size(child, known) for child in _children(node))
    elif not known[id(node)]:
        raise ValueError("an alias stands inside the value that it refers to")
    return known[id(node)]


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value
