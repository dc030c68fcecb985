"""FRAP (CVPR 2026, arXiv 2606.06335): probabilities fused with a referee's, and a threshold as in ATC."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from baselines.accuracy.atc import threshold
from starter.observing.observation import Observation, Source, once
from submission.arrays import FloatArray

LOG_RANGE = (-4.0, 4.0)
"""Range in which the logarithm of the referee's temperature is sought."""
TINY = np.finfo(np.float64).tiny


def divergence(p: FloatArray, q: FloatArray) -> float:
    """Returns the mean Jensen-Shannon divergence of the rows of p and q, (n, k) each with sum 1, in nats."""
    middle = np.maximum((p + q) / 2, TINY)
    terms = [each * np.log(np.maximum(each, TINY) / middle) for each in (p, q)]
    return float(sum(each.sum(axis=1).mean() for each in terms) / 2)


def tempered(p: FloatArray, t: float) -> FloatArray:
    """Returns p^(1/t) of each row, divided by its sum; (n, k)."""
    return softmax(np.log(np.maximum(p, TINY)) / t, axis=1)


def referee_temperature(p: FloatArray, referee: FloatArray) -> float:
    """Returns the temperature at which the referee (n, k) is nearest to p (n, k)."""
    found = minimize_scalar(
        lambda log_t: divergence(p, tempered(referee, float(np.exp(log_t)))),
        bounds=LOG_RANGE,
        method="bounded",
    )
    return float(np.exp(found.x))


def fused_scores(observation: Observation) -> FloatArray:
    """Returns the score <p_b, p> of each image, (n,), in [0, 1], high if classifier and fusion agree surely.

    The fusion is p = a p_b + (1 - a) p_r with a = c_b / (c_b + c_r): p_b and p_r are the probabilities of the
    classifier and, at its temperature on this set, of the referee, and c_b and c_r the largest of each.
    """
    assert observation.referee is not None
    own = observation.probabilities
    other = tempered(observation.referee, referee_temperature(own, observation.referee))
    sure, sure_other = own.max(axis=1, keepdims=True), other.max(axis=1, keepdims=True)
    share = sure / (sure + sure_other)
    return (own * (share * own + (1 - share) * other)).sum(axis=1)


@once
def frap_threshold(source: Source) -> float:
    """Returns the score below which the share of source images equals the error."""
    return threshold(fused_scores(source.observation), source.correct)


def frap(target: Observation, source: Source) -> float:
    """Share above a threshold, for the classifier fused with the referee (FRAP 2026).

    Returns mean_i 1[s_i >= t] of the fused scores s_i, with t from `frap_threshold`.
    """
    return float((fused_scores(target) >= frap_threshold(source)).mean())
