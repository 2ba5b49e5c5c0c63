"""What every verl process loads, by VERL_USE_EXTERNAL_MODULES: our advantage and loss under their names.

Where TRL is installed, verl patches a class of it that newer versions no longer have, and fails. It trains no value
head here, so it need not know of TRL.
"""

from verl.models.transformers import monkey_patch

from stages.train.verl import algos

__all__ = ["algos"]

monkey_patch.is_trl_available = lambda: False
