"""Rotation: the accuracy with which a linear head recognises rotations of a set's images.

Paper: Deng, Gould & Zheng, "What Does Rotation Prediction Tell Us about Classifier Accuracy under Varying
Testing Environments?", ICML 2021, arXiv 2106.05961.
"""

from starter.observing.observation import Observation, Source


def rotation(target: Observation, source: Source) -> float:
    """Accuracy of a four-way rotation head, in [0, 1] (Deng, Gould & Zheng 2021)."""
    assert target.rotation is not None
    return float(target.rotation.mean())
