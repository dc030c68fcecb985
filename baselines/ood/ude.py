"""UDE, unilateral density estimation: IND alone gets a density (Zhang, Deng & Zheng 2023, sec. 5.1)."""

import numpy as np

from baselines.ood.gscore import Gscore
from submission.arrays import FloatArray


class Ude(Gscore):
    """Gscore by UDE: a score looks like IND the nearer it is to the mean of the IND reference.

    The likeness is exp(-(x - mu)^2 / 2) of standardised scores; as printed, exp(-(x - mu)^2 / (2 sigma)), the
    square of sigma is missing, so that it depends on the unit of the scores (form "literal").
    """

    def _likeness(self, scores: FloatArray) -> FloatArray:
        if self.form == "standardised":
            return np.exp(-(scores**2) / 2)
        return np.exp(-((scores - self.mean_) ** 2) / (2 * self.sd_))
