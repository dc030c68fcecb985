"""GradNorm: the norm of the gradient towards the uniform distribution (Huang et al., NeurIPS 2021).

"On the Importance of Gradients for Detecting Distributional Shifts in the Wild", arXiv 2110.00218.
"""

from dataclasses import dataclass

import numpy as np

from starter.observing.detectors.detector import Detector, Scores, features
from starter.observing.observation import Observation


@dataclass
class GradNorm(Detector):
    """-|h|_1 sum_c |1 - k p_c|, with penultimate features h and softmax p over k classes.

    This is the negative L1 norm of the gradient with respect to the head's weight, in closed form. The loss
    is the sum over classes of -log p_c, whose gradient with respect to the logits is k p - 1.
    """

    needs = ("features",)

    def _score(self, observation: Observation) -> Scores:
        lengths = features(observation).abs().sum(dim=1).numpy()
        k = observation.logits.shape[1]
        return -lengths * np.abs(1 - k * observation.probabilities).sum(axis=1)
