"""ReAct: energy after the largest activations are clipped (Sun, Guo & Li, NeurIPS 2021).

"ReAct: Out-of-distribution Detection With Rectified Activations", arXiv 2111.12797; computed by pytorch-ood.
"""

from dataclasses import dataclass

import torch

from starter.observing.detectors.detector import Detector, Scores, features, head
from starter.observing.observation import Observation, Source


@dataclass
class ReAct(Detector):
    """-log sum_c exp(f_c(min(h, t))), with penultimate features h, and their quantile t in the reference."""

    percentile: float = 0.9

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        from pytorch_ood.detector import ReAct as Library  # slow to import

        known = features(source.observation)
        self.detector_ = Library(None, head(source), percentile=self.percentile)
        self.detector_.fit_feature_maps(known, torch.zeros(len(known)))

    def _score(self, observation: Observation) -> Scores:
        return self.detector_.predict_feature_maps(features(observation))
