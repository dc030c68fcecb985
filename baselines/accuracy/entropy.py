"""Entropy: the mean entropy of a set's softmax.

Papers: Guillory et al., "Predicting with Confidence on Unseen Distributions", ICCV 2021; Chen, Zhang & Song,
"Scoring Your Prediction on Unseen Data" (SYP), CVPR Workshops 2023, eq. 2.
"""

from typing import Any

from starter.observing.observation import Observation, Source
from starter.observing.temperature import joined, over_blocks
from submission.arrays import FloatArray


def entropies(observation: Observation) -> FloatArray:
    """Returns the entropy of each image's softmax p, -sum_c p_c log p_c in nats, float64 (n,), in [0, log k].

    SYP's eq. 2 has the opposite sign, which does not matter for a regression.
    """
    return joined(over_blocks(_entropies, observation.logits))


def _entropies(logits: Any, first: int) -> Any:
    """Returns the entropy of each row of a block, a tensor (n, k)."""
    log_p = logits.log_softmax(dim=1)
    return -(log_p.exp() * log_p).sum(dim=1)


def entropy(target: Observation, source: Source) -> float:
    """Mean entropy of the softmax, in nats (Guillory et al. 2021)."""
    return float(entropies(target).mean())
