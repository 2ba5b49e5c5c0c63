"""The dataset in the formats of other trainers, one file for each format."""
