"""The pages beside the report: trajectories, dataset and tool graph, each to be explored rather than read."""
