"""Discovery: which tools depend on which, with the evidence for each edge."""
