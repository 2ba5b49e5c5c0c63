"""Training a policy on verified environments: warm start by SFT, then GRPO, in plain PyTorch."""

import os

# Read once, when torch loads its thread pool: on a busy machine spinning threads make small
# operations several times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
