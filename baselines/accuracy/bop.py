"""BoP, bag of prototypes: the histogram of a set's features over prototypes of the training features.

Paper: Tu, Deng, Gedeon & Zheng, "A Bag-of-Prototypes Representation for Dataset-Level Applications", CVPR
2023.
"""

import numpy as np
from scipy.spatial.distance import cdist, jensenshannon

from baselines.accuracy.dispersion import subsamples
from starter.observing.observation import Observation, Source, once
from submission.arrays import FloatArray

PROTOTYPES = 80
"""Number K of prototypes, the paper's for CIFAR-10."""
Codebook = tuple[FloatArray, FloatArray]
"""Prototypes (K, d) of the training images' features, and the share of these images at each, (K,)."""


@once
def codebook_of(source: Source) -> Codebook:
    """Returns the codebook of the K-means centres of the training images' features.

    K-means starts from the images that `spread_out` picks: with random starts a difference of 1e-6 in the
    features, as between two engines, sent BoP elsewhere.
    """
    from sklearn.cluster import KMeans

    features = _features(source.train_ref)
    first = spread_out(features, PROTOTYPES)
    centres = KMeans(len(first), init=first, n_init=1, max_iter=300, tol=0).fit(features).cluster_centers_
    return centres, bag(source.train_ref, centres)


def spread_out(rows: FloatArray, count: int) -> FloatArray:
    """Returns at most `count` distinct rows of (n, d): that nearest to the mean, then always the farthest.

    Gonzalez, "Clustering to Minimize the Maximum Intercluster Distance", Theoretical Computer Science 1985.
    """
    nearest = cdist(rows, rows.mean(axis=0, keepdims=True), "sqeuclidean")[:, 0]
    picked = [int(nearest.argmin())]
    nearest[:] = np.inf
    for _ in range(1, count):
        nearest = np.minimum(nearest, cdist(rows, rows[picked[-1:]], "sqeuclidean")[:, 0])
        if not nearest.any():
            break
        picked.append(int(nearest.argmax()))
    return rows[picked]


def bag(observation: Observation, prototypes: FloatArray) -> FloatArray:
    """Returns the share of images whose nearest prototype is each of the prototypes (K, d), (K,)."""
    from sklearn.metrics import pairwise_distances_argmin

    nearest = pairwise_distances_argmin(_features(observation), prototypes)
    return np.bincount(nearest, minlength=len(prototypes)) / len(observation)


def bop(target: Observation, source: Source) -> float:
    """Distance between histograms of feature prototypes, set and training (Tu et al. 2023).

    Returns their Jensen-Shannon divergence, in [0, log 2] nats: JS(p, q) = (KL(p || m) + KL(q || m)) / 2 with
    m = (p + q) / 2 for the bags p and q, (K,). The bag of few images is farther from any other by chance, so
    the result is the mean over subsamples of a common size; smaller sets are not subsampled.
    """
    prototypes, reference = codebook_of(source)
    roots = [jensenshannon(bag(part, prototypes), reference) for part in subsamples(target)]
    return float(np.mean(np.square(roots)))


def _features(observation: Observation) -> FloatArray:
    assert observation.features is not None
    return observation.features.astype(np.float64)
