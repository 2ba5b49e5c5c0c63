"""Report: one static page that opens from disk, drawn from the other stages' metrics and tables."""
