"""ConfScore: the mean confidence of a set.

Paper: Hendrycks & Gimpel, "A Baseline for Detecting Misclassified and Out-of-Distribution Examples in Neural
Networks", ICLR 2017, arXiv 1610.02136.
"""

from starter.observing.observation import Observation, Source


def confscore(target: Observation, source: Source) -> float:
    """Mean confidence (Hendrycks & Gimpel 2017).

    Returns mean_i max_c p_ic of the softmax p (n, k), in [1/k, 1].
    """
    return float(target.probabilities.max(axis=1).mean())
