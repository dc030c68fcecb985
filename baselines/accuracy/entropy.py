"""Entropy: the mean entropy of a set's softmax.

Papers: Guillory et al., "Predicting with Confidence on Unseen Distributions", ICCV 2021; Chen, Zhang & Song,
"Scoring Your Prediction on Unseen Data" (SYP), CVPR Workshops 2023, eq. 2.
"""

from starter.observing.observation import Observation, Source
from starter.observing.temperature import blocks, joined
from submission.arrays import FloatArray


def entropies(observation: Observation, temperature: float = 1.0) -> FloatArray:
    """Returns the entropy of each image's softmax p, -sum_c p_c log p_c, float64 (n,), nats in [0, log k]."""
    # SYP's eq. 2 has the opposite sign, which does not matter for a regression.
    logs = (block.div_(temperature).log_softmax(dim=1) for block in blocks(observation.logits))
    return joined(-(log_p.exp() * log_p).sum(dim=1) for log_p in logs)


def entropy(target: Observation, source: Source) -> float:
    """Mean entropy of the softmax, in nats (Guillory et al. 2021)."""
    return float(entropies(target).mean())
