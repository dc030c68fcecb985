"""UDE, unilateral density estimation by the IND scores alone (the Gscore paper, sec. 5.1)."""

import numpy as np

from baselines.ood.gscore import Gscore
from submission.arrays import FloatArray


class Ude(Gscore):
    """Distance of two Gaussians, one of them that of the IND reference (Zhang, Deng & Zheng 2023).

    A score's likeness is exp(-z^2 / 2) for standardised scores z = (x - mu) / sigma. In the paper's
    exp(-(x - mu)^2 / (2 sigma)) sigma is not squared, so that it depends on the unit of the scores.
    """

    def _likeness(self, scores: FloatArray) -> FloatArray:
        return np.exp(-(scores**2) / 2)
