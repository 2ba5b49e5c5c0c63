"""verl without a GPU, to see that a run holds together: a platform, two patches, and a sampler in place of vLLM.

This is a test device. It is slow, has no LoRA, and its figures say nothing about a GPU.
"""
