"""Entropy: the mean entropy of a set's softmax.

Papers: Guillory et al., "Predicting with Confidence on Unseen Distributions", ICCV 2021; Chen, Zhang & Song,
"Scoring Your Prediction on Unseen Data" (SYP), CVPR Workshops 2023, eq. 2.
"""

import numpy as np
from scipy.special import log_softmax

from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray


def entropies(observation: Observation) -> FloatArray:
    """Returns the entropy of each image's softmax p, -sum_c p_c log p_c in nats, float64 (n,), in [0, log k].

    SYP's eq. 2 has the opposite sign, which does not matter for a regression.
    """
    log_p = log_softmax(observation.logits.astype(np.float64), axis=1)
    return -(np.exp(log_p) * log_p).sum(axis=1)


def entropy(target: Observation, source: Source) -> float:
    """Mean entropy of the softmax, in nats (Guillory et al. 2021)."""
    return float(entropies(target).mean())
