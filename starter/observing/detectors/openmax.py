"""OpenMax: probability of an unknown class by extreme value theory (Bendale & Boult, CVPR 2016).

"Towards Open Set Deep Networks", arXiv 1511.06233.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from scipy.special import softmax

from starter.observing.detectors.detector import Detector, Scores
from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray

SHIFT = 10_000.0
"""Constant added to distances before the fit, as in libMR, the authors' library."""
LARGEST = 700.0
"""Largest exponent; exp of more than about 709 overflows."""


@dataclass
class OpenMax(Detector):
    """Probability of the unknown class, in [0, 1].

    Of an image's `alpha` largest logits f_c, the one of rank r (from 0) is reduced by (1 - r / alpha) w_c
    f_c; the sum of the reductions is the logit of the unknown class, and the score is its softmax
    probability. w_c is the probability that an image of class c is nearer to the class's mean logits: the
    distribution function of a Weibull distribution, fitted to the `tail` largest distances among the training
    images that are predicted as c. It is 1 if those distances are equal or fewer than two.

    pytorch-ood takes the distances to classes that are not predicted in the batch as 0, and its fit
    ends before the maximum of the likelihood.
    """

    tail: int = 20
    alpha: int = 3

    def _fit(self, source: Source) -> None:
        logits, classes = source.train_ref.logits.astype(np.float64), source.train_ref.predicted
        k = logits.shape[1]
        self.means_, self.least_ = np.zeros((k, k)), np.zeros(k)
        self.shape_, self.scale_ = np.zeros(k), np.full(k, np.nan)
        for c in np.unique(classes):
            members = logits[classes == c]
            self.means_[c] = members.mean(axis=0)
            largest = np.sort(np.linalg.norm(members - self.means_[c], axis=1))[-self.tail :]
            shifted = largest - largest[0] + SHIFT
            if shifted[0] < shifted[-1]:  # equal up to rounding counts as equal
                self.least_[c] = largest[0]
                self.shape_[c], self.scale_[c] = likeliest_weibull(shifted)

    def _score(self, observation: Observation) -> Scores:
        logits = observation.logits.astype(np.float64)
        ranks = np.argsort(np.argsort(-logits, axis=1, kind="stable"), axis=1)
        lost = logits * np.clip(1 - ranks / self.alpha, 0, 1) * self._outside(logits)
        return softmax(np.column_stack([lost.sum(axis=1), logits - lost]), axis=1)[:, 0]

    def _outside(self, logits: FloatArray) -> FloatArray:
        """Returns w (n, k): the Weibull distribution function of each class at the distance to its mean."""
        distances = cdist(logits, self.means_) - self.least_ + SHIFT
        exponents = self.shape_ * np.log(np.maximum(distances, np.finfo(float).tiny) / self.scale_)
        chances = -np.expm1(-np.exp(np.minimum(exponents, LARGEST)))
        return np.where(np.isnan(self.scale_), 1.0, chances)


def likeliest_weibull(values: FloatArray) -> tuple[float, float]:
    """Returns shape and scale of the likeliest Weibull distribution for values (n,) above 0, not all equal.

    The shape c is the root of an increasing function, sum x^c log x / sum x^c - mean log x - 1 / c (Johnson,
    Kotz & Balakrishnan, "Continuous Univariate Distributions", vol. 1, 1994, ch. 21). SciPy's general search
    is wrong for distances that differ by less than SHIFT / 10^6.
    """
    logs = np.log(values / values.max())

    def slope(shape: float) -> float:
        weights = np.exp(shape * logs)
        return float(weights @ logs / weights.sum() - logs.mean() - 1 / shape)

    # The weighted mean of the logarithms lies between their mean and their largest, 0, and above -log(n) / c.
    low, high = 1 / -logs.min(), (1 + np.log(len(logs))) / -logs.mean()
    shape = float(brentq(slope, low, high, xtol=1e-12 * low, rtol=1e-14))
    return shape, float(values.max() * np.exp(shape * logs).mean() ** (1 / shape))
