"""ReAct: energy after the largest activations are cut (Sun, Guo & Li, NeurIPS 2021)."""

from dataclasses import dataclass

import torch

from starter.detectors.detector import Detector, Scores, features, head
from starter.observing.observation import Observation, Source


@dataclass
class ReAct(Detector):
    """Energy of the head's logits of min(h, c).

    Attributes:
        percentile: c is this quantile, in [0, 1], of all features of the reference images.
    """

    percentile: float = 0.9

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        from pytorch_ood.detector import ReAct as Library  # slow to import

        known = features(source.observation)
        self.detector_ = Library(None, head(source), percentile=self.percentile)
        self.detector_.fit_feature_maps(known, torch.zeros(len(known)))

    def _score(self, observation: Observation) -> Scores:
        return self.detector_.predict_feature_maps(features(observation))
