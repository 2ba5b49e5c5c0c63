"""The tests. A package of its own, because some distributions (verl among them) install one called `tests`."""
