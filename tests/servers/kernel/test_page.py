"""Lists as tools return them: pages, and the words that they are searched for."""

from __future__ import annotations

from servers.kernel.page import Page, paginate, search

NAMES = ("Red kite", "red Fox", "Kite, RED", "fox")


def test_a_search_wants_every_word_and_keeps_the_order() -> None:
    assert search(NAMES, "red KITE", str) == ["Red kite", "Kite, RED"]
    assert search(iter(NAMES), "fo", str) == ["red Fox", "fox"]
    assert search(NAMES, "red owl", str) == []


def test_no_word_fits_all_and_the_found_items_are_a_list_of_their_own() -> None:
    given = list(NAMES)
    found = search(given, " ", str)
    assert found == given and found is not given


def test_a_page_says_how_many_there_are_and_where_to_go_on() -> None:
    assert paginate(NAMES, 2) == Page(["Red kite", "red Fox"], 4, 2)
    assert paginate(NAMES, 2, 2) == Page(["Kite, RED", "fox"], 4)
    assert paginate(NAMES, 2, 9) == Page([], 4)
