"""Sub-populations: clusters of images in a network's feature space, from hard to easy."""

import numpy as np
from numpy.typing import NDArray

from submission.arrays import FloatArray

CLUSTER = 60
"""Mean number of images of a cluster."""


def hard_to_easy(features: FloatArray, confidence: FloatArray, seed: int) -> NDArray[np.int64]:
    """Returns the cluster of each image, int64 (n,), ordered from low to high mean confidence.

    Clusters are found by k-means on standardised features. They group images that are similar to the network,
    not images with errors: no label is used.

    Args:
        features: Features of a referee or penultimate features of a classifier (n, d), or logits.
        confidence: Confidence of the same network in each image (n,).
        seed: Seed of k-means.
    """
    from sklearn.cluster import KMeans

    rows = features.astype(np.float64)
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    count = max(len(rows) // CLUSTER, 1)
    members = KMeans(count, n_init=1, random_state=seed).fit_predict(rows)
    _, members = np.unique(members, return_inverse=True)
    mean = np.bincount(members, confidence) / np.bincount(members)
    return np.argsort(np.argsort(mean, kind="stable"), kind="stable")[members]
