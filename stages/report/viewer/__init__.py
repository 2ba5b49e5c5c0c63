"""Pages over many records, opened from disk: an index in pages, bodies in shards, one script for every source."""
