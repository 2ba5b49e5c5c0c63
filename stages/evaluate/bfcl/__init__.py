"""BFCL multi-turn: four categories of 200 conversations over eight stateful classes.

The Berkeley Function Calling Leaderboard (Apache-2.0) comes as the package `bfcl-eval` 2026.3.23, data
inside; its questions are the version 4 ones, which differ from version 3 in about 72 of 200 a category,
so figures of the two don't compare. It pins an old numpy and a long list of API clients that multi-turn
doesn't need, so it is installed without its dependencies.

    data.py      questions, tools and gold calls from the package's files
    world.py     one task's instances of the official classes, called by exact name
    scoring.py   the official rule, on worlds of its own
    adapter.py   the benchmark: playing, scoring, controls

The official harness keeps instances in module globals and evaluates model strings as Python. Here each
world is an object that dies with its task, and a call is a look-up and a keyword call.
"""
