"""Scores a policy: benchmarks from outside, each with its controls, and honest intervals."""
