"""Confidence: what the classifier is sure of counts as IND (Zhang, Deng & Zheng 2023, sec. 6.2)."""

from baselines.contract.estimator import Estimator
from baselines.ood.scored import reference_scores, scored_mix
from starter.observing.observation import MetaTrain, ScoredMix


class Confident(Estimator):
    """The metric of the detector's scores where images of confidence above `threshold` count as IND.

    Nothing is regressed. A mix with all images on one side gets the mean of the
    meta-train mixes.

    Args:
        threshold: of the largest softmax probability.
    """

    def __init__(self, threshold: float = 0.9) -> None:
        self.threshold = threshold

    def _fit(self, meta: MetaTrain) -> None:
        reference_scores(meta.source)
        self.mean_ = float(meta.targets.mean())

    def _predict(self, mix: ScoredMix) -> float:
        from starter.detectors.metrics import DETECTION_METRICS

        sure = scored_mix(mix).observation.probabilities.max(axis=1) > self.threshold
        if sure.all() or not sure.any():
            return self.mean_
        return DETECTION_METRICS[mix.metric](mix.scores[sure], mix.scores[~sure])
