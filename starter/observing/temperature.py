"""Temperature scaling of a classifier on its labelled source (Guo et al., ICML 2017)."""

import numpy as np
from scipy.optimize import minimize_scalar

from starter.observing.observation import Observation, Source, once
from starter.observing.softmax import logsumexp, softmax
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
    truth = logits[np.arange(len(logits)), labels].astype(np.float64)

    def negative_log_likelihood(log_t: float) -> float:
        scale = np.exp(-log_t)
        return float((logsumexp(logits, scale) - truth * scale).mean())

    found = minimize_scalar(negative_log_likelihood, bounds=LOG_RANGE, method="bounded")
    return float(np.exp(found.x))


def scaled_probabilities(observation: Observation, temperature: float) -> FloatArray:
    """Returns softmax(f / T) of each image, float64 (n, k)."""
    return softmax(observation.logits.astype(np.float64) / temperature)
