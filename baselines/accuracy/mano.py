"""MaNo, the matrix norm of normalised logits (Xie et al., NeurIPS 2024)."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from starter.observing.observation import Observation, Source

ORDER = 4
"""p of the entrywise norm, the paper's default."""
THRESHOLD = 5.0
"""eta: above this cross-entropy to the uniform distribution the softmax is trusted."""


def uniform_cross_entropy(logits: NDArray[np.float64]) -> float:
    """Phi, the mean over images and classes of -log softmax, in nats, at least log k; `logits` are (n, k)."""
    return float(-log_softmax(logits, axis=1).mean())


def taylor_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 + q + q^2 / 2, less its least entry in the row, divided by the row's sum; (n, k), rows sum to 1.

    A row of equal logits becomes uniform, as in a softmax (the authors' code gives zeros there).
    """
    values = 1 + logits + logits**2 / 2
    values -= values.min(axis=1, keepdims=True)
    sums = values.sum(axis=1, keepdims=True)
    return np.divide(values, sums, out=np.full_like(values, 1 / values.shape[1]), where=sums > 0)


def mano(target: Observation, source: Source) -> float:
    """(n k)^(-1/4) |Q|_4, in (0, 1], with Q the normalised logits, (n, k), of the whole set at once.

    Q is the softmax if Phi > 5, else `taylor_softmax`, which holds back overconfident logits (eq. 6).
    The authors' repository averages over batches and leaves batch norm in train mode; the paper does neither.
    """
    logits = target.logits.astype(np.float64)
    trusted = uniform_cross_entropy(logits) > THRESHOLD
    normalised = target.probabilities if trusted else taylor_softmax(logits)
    return float((normalised**ORDER).mean() ** (1 / ORDER))
