"""What several servers need alike: people and places. It knows no server."""
