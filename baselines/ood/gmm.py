"""GMM: a mixture of two Gaussians fitted to a mix's scores (the Gscore paper, sec. 5.1)."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from baselines.ood.gscore import Gscore
from baselines.ood.kmeans import two_means
from submission.arrays import FloatArray

LEAST_VARIANCE = 1e-6
"""Constant that is added to every variance."""


def gaussian_mixture(ordered: FloatArray) -> GaussianMixture | None:
    """Returns two Gaussians fitted by EM to ascending scores (n,) from K-means's optimum, if they differ."""
    low, high = two_means(ordered)
    count = int((ordered <= (low + high) / 2).sum())
    if not 0 < count < len(ordered):
        return None
    halves = ordered[:count], ordered[count:]
    mixture = GaussianMixture(
        2,
        reg_covar=LEAST_VARIANCE,
        weights_init=[len(half) / len(ordered) for half in halves],
        means_init=[[half.mean()] for half in halves],
        precisions_init=[[[1 / (half.var() + LEAST_VARIANCE)]] for half in halves],
        init_params="random",  # the quickest; what it draws is replaced by the three above
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # after 100 steps it is good enough
        return mixture.fit(ordered[:, None])


class Gmm(Gscore):
    """Distance of two Gaussians fitted to the scores; linear regression (Zhang, Deng & Zheng 2023)."""

    def _likeness(self, scores: FloatArray) -> FloatArray:
        mixture = gaussian_mixture(scores)
        if mixture is None:
            return np.ones(len(scores))
        return mixture.predict_proba(scores[:, None])[:, mixture.means_.argmin()]
