"""Prefect flows over the DVC stages."""
