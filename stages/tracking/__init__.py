"""Tracking in MLflow: one run for each execution of a stage, policies as registered models, episodes as traces.

`tracker` collects and writes a run, `database` keeps the SQLite file whole, `provenance` says what a run was made
from. `models` and `traces` add to a run what more there is to look at; they are imported where they are used.
"""

from stages.tracking.database import DATABASE, tracking_uri
from stages.tracking.digest import sha256
from stages.tracking.tracker import Target, Tracker, flat, tracker_for

__all__ = ["DATABASE", "Target", "Tracker", "flat", "sha256", "tracker_for", "tracking_uri"]
