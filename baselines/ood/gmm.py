"""GMM: two Gaussians fitted to a mix's scores (Zhang, Deng & Zheng 2023, sec. 5.1)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from baselines.ood.gscore import Gscore
from baselines.ood.kmeans import two_means
from submission.arrays import FloatArray

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

    def log_joint(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log(weight * density) of the scores (n,) under either component, each (n,)."""
        constants = np.log(self.weights) - np.log(2 * np.pi * self.variances) / 2
        first, second = (
            constant - (scores - mean) ** 2 / (2 * variance)
            for constant, mean, variance in zip(constants, self.means, self.variances, strict=True)
        )
        return first, second

    def posterior(self, scores: FloatArray) -> FloatArray:
        """The probability of the first component given each score, (n,)."""
        first, second = self.log_joint(scores)
        return expit(first - second)


def gaussian_mixture(ordered: FloatArray) -> Mixture:
    """Two Gaussians by expectation maximisation from scores (n,) in ascending order, n >= 2.

    The start is K-means's exact optimum, where scikit-learn's GaussianMixture draws its start at random.
    """
    low, high = two_means(ordered)
    mixture = _maximised(ordered, (ordered <= (low + high) / 2).astype(np.float64))
    before = -np.inf
    for _ in range(ITERATIONS):
        first, second = mixture.log_joint(ordered)
        likelihood = np.logaddexp(first, second).mean()
        mixture = _maximised(ordered, expit(first - second))
        if abs(likelihood - before) < TOLERANCE:
            break
        before = likelihood
    order = np.argsort(mixture.means, kind="stable")
    return Mixture(mixture.weights[order], mixture.means[order], mixture.variances[order])


def _maximised(scores: FloatArray, first: FloatArray) -> Mixture:
    """The most likely mixture where a share `first` (n,) of each score belongs to the first component."""
    shares = np.array([first, 1 - first])
    counts = shares.sum(axis=1) + 10 * np.finfo(np.float64).eps
    means = shares @ scores / counts
    deviations = [(scores - mean) ** 2 for mean in means]
    variances = np.array([share @ each for share, each in zip(shares, deviations, strict=True)]) / counts
    return Mixture(counts / counts.sum(), means, variances + LEAST_VARIANCE)


class Gmm(Gscore):
    """Gscore by GMM: how surely a score is of the component with the lower (less OOD) mean."""

    def _likeness(self, scores: FloatArray) -> FloatArray:
        return gaussian_mixture(scores).posterior(scores)
