"""The environments: a kernel that knows no domain, and one folder for each server."""
