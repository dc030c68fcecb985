"""MaxLogit, also MLS or MLV: the largest logit (Hendrycks et al., ICML 2022).

"Scaling Out-of-Distribution Detection for Real-World Settings", arXiv 1911.11132; computed by pytorch-ood.
"""

from dataclasses import dataclass

from starter.observing.detectors.detector import Detector, Scores, tensor
from starter.observing.observation import Observation


@dataclass
class MaxLogit(Detector):
    """-max_c f_c, with the logits f."""

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxLogit as Library  # slow to import

        return Library.score(tensor(observation.logits))
