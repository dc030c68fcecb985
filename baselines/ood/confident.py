"""Confident: images with high confidence count as IND, all others as OOD (the Gscore paper, sec. 6.2)."""

from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, ScoredMix


class Confident(Estimator):
    """The metric, if images with high confidence count as IND (Zhang, Deng & Zheng 2023).

    Images with max_c p_c > `threshold` are IND, all others OOD. Nothing is regressed. For a mix with all
    images on one side, the mean target of the meta-train mixes is predicted.

    Args:
        threshold: Threshold of the largest softmax probability, in (0, 1).
    """

    def __init__(self, threshold: float = 0.9) -> None:
        self.threshold = threshold

    def _fit(self, meta: MetaTrain) -> None:
        self.mean_ = float(meta.targets.mean())

    def _predict(self, mix: ScoredMix) -> float:
        from starter.observing.detectors.metrics import DETECTION_METRICS

        sure = mix.observation.probabilities.max(axis=1) > self.threshold
        if sure.all() or not sure.any():
            return self.mean_
        return DETECTION_METRICS[mix.metric](mix.scores[sure], mix.scores[~sure])
