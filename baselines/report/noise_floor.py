"""What chance alone gives to the truths of the OOD track's meta-train mixes."""

import numpy as np

from baselines.contract.estimator import FloatArray
from baselines.ood.scored import mix_scores, reference_scores
from starter.build.ood import deviation
from starter.observing.observation import MetaTrain

FLOOR = "noise floor"
"""The name of its line in tables of methods."""


def deviations(meta: MetaTrain, metric: str) -> FloatArray:
    """The standard deviation, a fraction, that the draw of images gives to each mix's metric (m,).

    Args:
        meta: mixes; where their FPR takes its threshold from the pool, the reference stands for it.
        metric: as in `starter.detectors.metrics.METRICS`.
    """
    reference, rng = reference_scores(meta.source), np.random.default_rng(0)
    mixes = zip(meta.sets, meta.ood, strict=True)
    return np.array([deviation(metric, meta.fpr, reference, mix_scores(mix), ood, rng) for mix, ood in mixes])
