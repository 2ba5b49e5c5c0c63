"""The environment framework. It knows no domain: servers bring their records, seeds and tools."""
