"""The default judge, a program: 0 to 3 for each subgoal by the checklist of the prototype that it is routed to.

3 rigorous, 2 a minor slip, 1 a major gap, 0 wrong or premature; the process score of a turn is their mean over 3
(SCRIBE, arXiv 2601.03555; R = .7 outcome + .3 process). A pure function of the trajectory: it runs no tool and no
model, so that it can stand inside the reward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stages.records import EpisodeRecord, ToolSpec
from stages.skills.decompose import Subgoal, decompose
from stages.skills.facts import Facts
from stages.skills.router import Router
from stages.skills.scene import Scene
from stages.skills.scoring import judge_subgoal, process_score
from stages.skills.trajectories import Trajectory, played


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judged subgoal: the prototype ("" is the generic rubric), the score, and the items that failed."""

    subgoal: Subgoal
    prototype: str
    score: int
    failed: tuple[str, ...] = ()


class ProgramJudge:
    """Judges trajectories by a library's prototypes; a `ProcessJudge` of the reward."""

    def __init__(self, facts: Facts, router: Router) -> None:
        self._facts, self._router = facts, router

    def verdicts(self, trajectory: Trajectory) -> list[Verdict]:
        """Every subgoal of a turn with its score."""
        scene, out = Scene(trajectory, self._facts), []
        for subgoal in decompose(trajectory, self._facts):
            route = self._router(subgoal.text)
            out.append(Verdict(subgoal, route.prototype, *judge_subgoal(scene, subgoal, route.checklist)))
        return out

    def process(self, visible: Sequence[ToolSpec], record: EpisodeRecord) -> float:
        """The process score of an episode's last turn."""
        return process_score([verdict.score for verdict in self.verdicts(played("", visible, record))])
