"""Teachers: one interface behind LiteLLM, for the scripted teacher and any hosted model."""
