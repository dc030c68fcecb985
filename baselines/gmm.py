"""GMM: two Gaussians fitted to a mix's scores (Zhang, Deng & Zheng 2023, sec. 5.1)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from baselines.estimator import FloatArray
from baselines.gscore import Gscore
from baselines.kmeans import two_means

LEAST_VARIANCE = 1e-6
"""Added to every variance, as scikit-learn does."""
ITERATIONS = 100
TOLERANCE = 1e-3
"""EM stops when the mean log-likelihood gains less."""


@dataclass(frozen=True)
class Mixture:
    """Two Gaussians with weights of sum 1; each (2,), the one with the lower mean first."""

    weights: FloatArray
    means: FloatArray
    variances: FloatArray

    def log_joint(self, scores: FloatArray) -> FloatArray:
        """log(weight * density) of the scores (n,) under either component, (n, 2)."""
        deviations = (scores[:, None] - self.means) ** 2 / self.variances
        return np.log(self.weights) - (np.log(2 * np.pi * self.variances) + deviations) / 2

    def posterior(self, scores: FloatArray) -> FloatArray:
        """The probability of either component given each score, (n, 2)."""
        return softmax(self.log_joint(scores), axis=1)


def gaussian_mixture(ordered: FloatArray) -> Mixture:
    """Two Gaussians by expectation maximisation from scores (n,) in ascending order, n >= 2.

    The start is K-means's exact optimum, where scikit-learn's GaussianMixture draws its start at random.
    """
    low, high = two_means(ordered)
    upper = ordered > (low + high) / 2
    mixture, before = _maximised(ordered, np.column_stack([~upper, upper]).astype(np.float64)), -np.inf
    for _ in range(ITERATIONS):
        joint = mixture.log_joint(ordered)
        total = np.logaddexp(joint[:, 0], joint[:, 1])
        if abs(total.mean() - before) < TOLERANCE:
            break
        mixture, before = _maximised(ordered, np.exp(joint - total[:, None])), total.mean()
    order = np.argsort(mixture.means, kind="stable")
    return Mixture(mixture.weights[order], mixture.means[order], mixture.variances[order])


def _maximised(scores: FloatArray, shares: FloatArray) -> Mixture:
    """The most likely mixture where `shares` (n, 2) of each score belong to either component."""
    counts = shares.sum(axis=0) + 10 * np.finfo(np.float64).eps
    means = scores @ shares / counts
    variances = ((scores[:, None] - means) ** 2 * shares).sum(axis=0) / counts
    return Mixture(counts / counts.sum(), means, variances + LEAST_VARIANCE)


class Gmm(Gscore):
    """Gscore by GMM: how surely a score is of the component with the lower (less OOD) mean."""

    def _likeness(self, scores: FloatArray) -> FloatArray:
        return gaussian_mixture(scores).posterior(scores)[:, 0]
