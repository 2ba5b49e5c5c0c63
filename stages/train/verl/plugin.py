"""What every verl process loads, by VERL_USE_EXTERNAL_MODULES: our advantage and loss under their names."""

from stages.train.verl import algos

__all__ = ["algos"]
