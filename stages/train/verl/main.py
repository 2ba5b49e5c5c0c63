"""verl's entry point with our trainer: `python -m stages.train.verl.main SETTING=VALUE ...`.

`python -m stages.train command` prints the whole command line.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import hydra
import ray
from verl.trainer.main_ppo import TaskRunnerV1, run_ppo
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.utils.config import validate_config
from verl.utils.device import auto_set_device

_RUNNER: Any = TaskRunnerV1.__ray_metadata__.modified_class


@ray.remote
class TaskRunner(_RUNNER):  # type: ignore[misc]  # verl is untyped here
    """verl's task runner, with our trainer in the place of its synchronous one."""

    def run(self, config: Any) -> None:
        """Train to the end."""
        from verl.trainer.ppo.v1 import trainer_base

        from stages.train.verl.phase import Phase
        from stages.train.verl.trainer import EpisodeTrainer

        phase = Phase.model_validate_json(Path(config.prove.phase).read_text(encoding="utf-8"))
        os.chdir(phase.root)  # paths of the parameters are relative to where the stage runs
        trainer_base.TRAINER_REGISTRY["sync"] = EpisodeTrainer
        super().run(config)


@hydra.main(config_path="pkg://verl.trainer.config", config_name="ppo_trainer", version_base=None)  # type: ignore[untyped-decorator]
def main(config: Any) -> None:
    """Check the settings and train."""
    auto_set_device(config)
    validate_config(config=config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    run_ppo(config, task_runner_class=TaskRunner)


if __name__ == "__main__":
    main()
