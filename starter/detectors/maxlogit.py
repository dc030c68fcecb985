"""MaxLogit, also MLS or MLV: the largest logit (Hendrycks et al., ICML 2022)."""

from dataclasses import dataclass

from starter.detectors.detector import Detector, Scores, tensor
from starter.observing.observation import Observation


@dataclass
class MaxLogit(Detector):
    """-max_c f_c."""

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxLogit as Library  # slow to import

        return Library.score(tensor(observation.logits))
