"""K-means on a mix's scores (the Gscore paper, sec. 5.1)."""

import numpy as np

from starter.observing.observation import ScoredMix, Source
from submission.arrays import FloatArray


def kmeans(target: ScoredMix, source: Source) -> float:
    """Distance between the scores' K-means centres (Zhang, Deng & Zheng 2023)."""
    low, high = two_means(np.sort(target.scores))
    return high - low


def two_means(ordered: FloatArray) -> tuple[float, float]:
    """Returns the centres, low and high, of the best K-means on ascending scores (n,), by all n - 1 cuts."""
    n = len(ordered)
    if n == 1:
        return float(ordered[0]), float(ordered[0])
    below, left = np.cumsum(ordered - ordered.mean())[:-1], np.arange(1, n)
    between = below**2 * (1 / left + 1 / (n - left))  # sums of squares between the clusters
    cut = int(between.argmax()) + 1
    return float(ordered[:cut].mean()), float(ordered[cut:].mean())
