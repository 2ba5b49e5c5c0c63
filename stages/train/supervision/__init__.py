"""Supervisory signals that keep GRPO from collapsing: one a file, behind the protocol of `signal.py`.

They are those of *Why Multi-Step Tool-Use RL Collapses and How Supervisory Signals Fix It*, arXiv 2606.26027.
docs/collapse.md says what is published and what is ours.
"""
