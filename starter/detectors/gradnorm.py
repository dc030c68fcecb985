"""GradNorm: the length of the gradient towards the uniform distribution (Huang et al., NeurIPS 2021)."""

from dataclasses import dataclass

import numpy as np

from starter.detectors.detector import Detector, Scores
from starter.observing.observation import Observation


@dataclass
class GradNorm(Detector):
    """-|h|_1 sum_c |1 - k p_c|: the L1 norm of the gradient by the head's weight, without backpropagation.

    The loss is the sum over classes of -log p_c, whose gradient by the logits is k p - 1.
    """

    needs = ("features",)

    def _score(self, observation: Observation) -> Scores:
        assert observation.features is not None
        lengths = np.abs(observation.features.astype(np.float64)).sum(axis=1)
        k = observation.logits.shape[1]
        return -lengths * np.abs(1 - k * observation.probabilities).sum(axis=1)
