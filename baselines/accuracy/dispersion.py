"""Dispersion score: the distance between the predicted classes in feature space.

Paper: Xie, Wei, Feng, Cao & An, "On the Importance of Feature Separability in Predicting Out-Of-Distribution
Error", NeurIPS 2023, arXiv 2303.15488.
"""

from math import ceil

import numpy as np

from starter.observing.observation import Observation, Source

COMMON = 100
"""Number of images in a subsample, about that of the smallest useful sets."""
SMALLEST = 1e-6
"""Lower bound of the scatter: with a single predicted class it is 0, whose logarithm is not finite."""


def dispersion(target: Observation, source: Source) -> float:
    """Distance between the mean features of predicted classes (Xie et al. 2023).

    Returns log(sum_c n_c |mu_c - mu|^2 / (n (k - 1))). mu_c is the mean of the penultimate features (n, d) of
    the n_c images predicted as class c of k, and mu the mean of all. The paper does not divide by n, so that
    its score grows with the size of a set. Means of few images also scatter more; therefore the score is the
    mean over subsamples of a common size. Smaller sets are not subsampled.
    """
    return float(np.mean([np.log(max(scatter(part), SMALLEST)) for part in subsamples(target)]))


def scatter(observation: Observation) -> float:
    """Returns sum_c n_c |mu_c - mu|^2 / (n (k - 1)) of the features, at least 0."""
    assert observation.features is not None
    n, k = observation.logits.shape
    features = observation.features.astype(np.float64)
    members = np.eye(k)[observation.predicted]
    counts = members.sum(axis=0)
    shifts = members.T @ (features - features.mean(axis=0))
    squares = (shifts**2).sum(axis=1) / np.maximum(counts, 1)
    return float(squares.sum() / (n * (k - 1)))


def subsamples(observation: Observation) -> list[Observation]:
    """Returns the set divided at random into ceil(n / COMMON) sets of `COMMON` images; smaller ones whole."""
    n = len(observation)
    if n <= COMMON:
        return [observation]
    order = np.lexsort(observation.logits.T)
    drawn = np.random.default_rng(0).permutation(order)
    return [observation.take(rows) for rows in np.resize(drawn, (ceil(n / COMMON), COMMON))]
