"""MSP: the maximum softmax probability (Hendrycks & Gimpel, ICLR 2017).

"A Baseline for Detecting Misclassified and Out-of-Distribution Examples in Neural Networks", arXiv
1610.02136; computed by pytorch-ood.
"""

from dataclasses import dataclass

from starter.observing.detectors.detector import Detector, Scores, tensor
from starter.observing.observation import Observation


@dataclass
class MSP(Detector):
    """-max_c p_c, in [-1, -1/k], with the softmax p of the logits over k classes."""

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxSoftmax  # slow to import

        return MaxSoftmax.score(tensor(observation.logits))
