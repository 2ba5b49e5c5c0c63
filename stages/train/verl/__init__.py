"""The cluster engine: GRPO on verl with FSDP and vLLM, on the local engine's episodes, reward and losses.

verl is used through its extension points and never edited: an agent loop that plays our episodes, an advantage
estimator and a policy loss made of the local engine's formulas, a trainer that keeps our journals, and settings that
are written from `params.yaml`. Without verl the settings, the plan and the episodes work all the same.
"""
