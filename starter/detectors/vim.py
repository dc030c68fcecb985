"""ViM: virtual-logit matching (Wang et al., CVPR 2022)."""

from dataclasses import dataclass

import torch

from starter.detectors.detector import Detector, Scores, features
from starter.observing.observation import Observation, Source


@dataclass
class ViM(Detector):
    """alpha |R (h - u)| - logsumexp f(h); R projects off the training features' principal space.

    u is where the head gives equal logits; alpha makes the first term as large as the largest logit on
    average over the training images.

    Attributes:
        largest: dimensions of the principal space, at most: min(largest, d // 2) of the d features.
    """

    largest: int = 256

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        from pytorch_ood.detector import ViM as Library  # slow to import

        known = features(source.train_ref)
        weight, bias = torch.tensor(source.head_weight), torch.tensor(source.head_bias)
        self.detector_ = Library(None, min(self.largest, known.shape[1] // 2), weight, bias)
        self.detector_.fit_features(known, torch.zeros(len(known)))

    def _score(self, observation: Observation) -> Scores:
        return self.detector_.predict_features(features(observation))
