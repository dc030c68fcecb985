"""Temperature scaling (Guo et al., ICML 2017), softmax and log-sum-exp, by PyTorch: faster than by SciPy."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from starter.observing.observation import Observation, Source, once
from submission.arrays import FloatArray, IntArray

LOG_RANGE = (-10.0, 10.0)
"""Bounds of log T; the optimum for a classifier without errors is T = 0, below any bound."""
BLOCK = 1 << 18
"""Number of logits that are read at a time: as many as a processor's cache holds in double precision."""


@once
def temperature(source: Source) -> float:
    """Returns the T > 0 that minimises the mean negative log-likelihood on the labelled source."""
    return likeliest_temperature(source.observation.logits, source.labels)


def likeliest_temperature(logits: FloatArray, labels: IntArray) -> float:
    """Returns the T > 0 that minimises the mean negative log-likelihood of softmax(f / T), f (n, k)."""
    truth = logits[np.arange(len(logits)), labels].astype(np.float64)

    def negative_log_likelihood(log_t: float) -> float:
        scale = np.exp(-log_t)
        return float((logsumexp(logits, scale) - truth * scale).mean())

    found = minimize_scalar(negative_log_likelihood, bounds=LOG_RANGE, method="bounded")
    return float(np.exp(found.x))


def scaled_probabilities(observation: Observation, temperature: float) -> FloatArray:
    """Returns softmax(f / T) of each image, float64 (n, k)."""
    return softmax(observation.logits.astype(np.float64) / temperature)


def softmax(logits: FloatArray) -> FloatArray:
    """Returns the softmax of each row of logits (n, k), float64 (n, k)."""
    import torch

    found: FloatArray = torch.softmax(torch.as_tensor(logits, dtype=torch.float64), dim=1).numpy()
    return found


def logsumexp(logits: FloatArray, scale: float = 1.0) -> FloatArray:
    """Returns log sum_c exp(scale f_c) of each row of logits (n, k), float64 (n,)."""
    import torch

    return joined(torch.logsumexp(block * scale, dim=1) for block in blocks(logits))


def blocks(logits: FloatArray) -> Iterator[Any]:
    """Yields tensors of rows in double precision, one after the other, each of about `BLOCK` logits."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on so few numbers, several mostly wait for each other
    try:
        for rows in torch.as_tensor(logits).split(max(BLOCK // logits.shape[1], 1)):
            yield rows.to(torch.float64)
    finally:
        torch.set_num_threads(threads)


def joined(values: Iterator[Any]) -> FloatArray:
    """Returns the values of blocks of rows, one tensor each, in one array (n,)."""
    return np.concatenate([each.numpy() for each in values])
