"""Temperature scaling on the labelled source (Guo et al., ICML 2017), with softmax and log-sum-exp.

PyTorch is several times as fast at these as SciPy; listing the methods does not need it.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from starter.observing.observation import Observation, Source, once
from submission.arrays import FloatArray, IntArray

LOG_RANGE = (-10.0, 10.0)
"""Bounds of log T; the optimum for a classifier without errors is T = 0, below any bound."""


@once
def temperature(source: Source) -> float:
    """Returns the T > 0 that minimises the mean negative log-likelihood on the labelled source."""
    return likeliest_temperature(source.observation.logits, source.labels)


def likeliest_temperature(logits: FloatArray, labels: IntArray) -> float:
    """Returns the T > 0 that minimises the mean negative log-likelihood of softmax(f / T).

    It is of logits (n, k) with class indices (n,), convex in 1/T; the search is over log T in [-10, 10].
    """
    logits = logits.astype(np.float64)
    truth = logits[np.arange(len(logits)), labels]

    def negative_log_likelihood(log_t: float) -> float:
        return float((logsumexp(logits / np.exp(log_t)) - truth / np.exp(log_t)).mean())

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


def logsumexp(logits: FloatArray) -> FloatArray:
    """Returns log sum_c exp(f_c) of each row of logits (n, k), float64 (n,)."""
    import torch

    found: FloatArray = torch.logsumexp(torch.as_tensor(logits, dtype=torch.float64), dim=1).numpy()
    return found
