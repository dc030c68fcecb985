"""MSP: the maximum softmax probability (Hendrycks & Gimpel, ICLR 2017)."""

from dataclasses import dataclass

from starter.detectors.detector import Detector, Scores, tensor
from starter.observing.observation import Observation


@dataclass
class MSP(Detector):
    """-max_c p_c, in [-1, -1/k]; p is the softmax of the logits."""

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxSoftmax  # slow to import

        return MaxSoftmax.score(tensor(observation.logits))
