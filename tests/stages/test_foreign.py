"""Foreign JSON: what is read can be kept, and what cannot is refused with its reason."""

from __future__ import annotations

import pytest

from stages.foreign import paired, read_json, read_json_at


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"x": NaN}', "NaN is not a JSON number"),
        ('{"x": -Infinity}', "not a JSON number"),
        ("1e999", "too large"),
        ('"\\ud83d"', "half of a surrogate pair"),
        ("[" * 33 + "]" * 33, "nested deeper than 32"),
        ("[" * 100_000, "nested deeper than 32"),
        ("9" * 5_000, "digits"),
        ("{} {}", "Extra data"),
        ("", "Expecting value"),
    ],
)
def test_what_cannot_be_kept_is_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_json(text)


def test_what_can_be_kept_is_read() -> None:
    assert read_json(' {"x": [1, 2.5e1, null, "\\ud83d\\ude00"]}\n') == {"x": [1, 25.0, None, "😀"]}
    assert read_json_at('a {"b": 1} c', 2) == ({"b": 1}, 10)
    assert paired("a\ud83db") == "a?b"
