"""ALine: agreement-on-the-line.

Paper: Baek, Jiang, Raghunathan & Kolter, "Agreement-on-the-Line: Predicting the Performance of Neural
Networks under Distribution Shift", NeurIPS 2022. From source to shifted images the probits of agreements
and of accuracies lie on one line, which is fitted to the agreements and needs no labels.
"""

from itertools import combinations

import numpy as np
from scipy.stats import norm

from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Observation
from submission.arrays import FloatArray, IntArray


def probits(shares: FloatArray, n: int) -> FloatArray:
    """Returns Phi^-1 of shares of n images, same shape; shares are kept half an image away from 0 and 1."""
    return norm.ppf(np.clip(shares, 0.5 / n, 1 - 0.5 / n))


def agreements(predicted: IntArray) -> FloatArray:
    """Returns the share of images on which each pair of m networks agrees, (pairs,), by classes (m, n)."""
    return np.array([(a == b).mean() for a, b in combinations(predicted, 2)])


def line(known: FloatArray, shifted: FloatArray) -> tuple[float, float]:
    """Returns slope and intercept of `shifted` on `known` (pairs,); slope 1 if negative, or of < 3 pairs."""
    spread = ((known - known.mean()) ** 2).sum()
    slope = ((known - known.mean()) * shifted).sum() / spread if len(known) > 2 and spread > 0 else 1.0
    slope = float(slope) if slope > 0 else 1.0
    return slope, float(shifted.mean() - slope * known.mean())


def aline_s(agreed: FloatArray, right: FloatArray, shifted: FloatArray) -> FloatArray:
    """Returns ALine-S, slope * right + intercept: all are probits, of pairs' agreements and m accuracies."""
    slope, intercept = line(agreed, shifted)
    return slope * right + intercept


def aline_d(agreed: FloatArray, right: FloatArray, shifted: FloatArray) -> FloatArray:
    """Returns ALine-D: probits x (m,) of the accuracies of m >= 3 networks that fit all pairs best.

    They solve (x_i + x_j) / 2 = shifted_ij + slope ((right_i + right_j) / 2 - agreed_ij) for all pairs (i, j)
    by least squares. The arguments are those of `aline_s`.
    """
    slope, _ = line(agreed, shifted)
    pairs = list(combinations(range(len(right)), 2))
    halves = np.zeros((len(pairs), len(right)))
    for row, pair in zip(halves, pairs, strict=True):
        row[list(pair)] = 0.5
    return np.linalg.lstsq(halves, shifted + slope * (halves @ right - agreed), rcond=None)[0]


class Aline(Estimator):
    """Agreement-on-the-line with the competition's other classifiers (Baek et al. 2022)."""

    needs = ("peers",)

    def _fit(self, meta: MetaTrain) -> None:
        labels = meta.source.labels
        predicted = self._votes(meta.source.observation)
        self.agreed_ = probits(agreements(predicted), len(labels))
        self.right_ = probits((predicted == labels).mean(axis=1), len(labels))

    def _votes(self, observation: Observation) -> IntArray:
        """Returns the predicted classes of the classifier (first row) and of the others, int64 (m, n)."""
        assert observation.peers is not None
        others = [logits.argmax(axis=1) for logits in observation.peers.values()]
        return np.array([observation.predicted, *others])

    def _predict(self, observation: Observation) -> float:
        shifted = probits(agreements(self._votes(observation)), len(observation))
        solve = aline_d if len(self.right_) > 2 else aline_s
        return float(norm.cdf(solve(self.agreed_, self.right_, shifted)[0]))
