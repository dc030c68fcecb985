"""IP+TS+MLS: ODIN's input preprocessing and temperature with MaxLogit (Recalcati et al., DSAA 2023)."""

from dataclasses import dataclass

from starter.detectors.detector import Scores
from starter.detectors.odin import ODIN, moved_logits
from starter.observing.observation import Observation


@dataclass
class InputMaxLogit(ODIN):
    """-max_c f_c(x') / T, with the perturbed images x' and the parameters of ODIN."""

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxLogit  # slow to import

        logits = moved_logits(observation, self.classifier_, self.temperature, self.eps)
        return MaxLogit.score(logits / self.temperature)
