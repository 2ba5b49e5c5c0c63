"""The pipeline's stages. `python -m stages.<name>` runs one; nothing here imports `flows`."""
