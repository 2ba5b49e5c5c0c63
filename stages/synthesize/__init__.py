"""Synthesis: conversations written by a state machine, grounded in live server state."""
