"""OpenMax: probability of an unknown class by extreme value theory (Bendale & Boult, CVPR 2016).

"Towards Open Set Deep Networks", arXiv 1511.06233.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import weibull_min

from starter.detectors.detector import Detector, Scores
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

    pytorch-ood gives the same scores if every class is predicted somewhere in the batch; otherwise it takes
    the distances to the missing classes as 0.

    Attributes:
        tail: Number of distances to which a Weibull distribution is fitted, an int >= 2.
        alpha: Number of logits that are reduced, an int >= 1.
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
            if largest[0] < largest[-1]:
                self.least_[c] = largest[0]
                shape, _, scale = weibull_min.fit(largest - largest[0] + SHIFT, floc=0)
                self.shape_[c], self.scale_[c] = shape, scale

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
