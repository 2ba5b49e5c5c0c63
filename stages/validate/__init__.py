"""Validation: replay, provenance, duplicates and expectations; then the dataset's rows and splits."""
