"""ASH: energy after all but an image's largest activations are dropped (Djurisic et al., ICLR 2023)."""

from dataclasses import dataclass

import torch

from starter.detectors.detector import Detector, Scores, features, head
from starter.observing.observation import Observation, Source


@dataclass
class ASH(Detector):
    """Energy of the head's logits of the shaped features.

    Attributes:
        variant: "b" gives every feature that is kept the same value, with the sum of all; "s" multiplies
            them by exp(sum of all / sum of those kept).
        percentile: the share of an image's features that is set to 0, in [0, 1).
    """

    variant: str
    percentile: float = 0.9

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        from pytorch_ood.detector import ASH as Library  # slow to import

        self.detector_ = Library(None, head(source), f"ash-{self.variant}", self.percentile)

    def _score(self, observation: Observation) -> Scores:
        given = features(observation)
        scores = self.detector_.predict_feature_maps(given[:, :, None, None])
        nothing = self.detector_.detector(self.detector_.head(torch.zeros_like(given[:1])))
        return torch.where(given.any(dim=1), scores, nothing)  # without any activation, "s" divides 0 by 0
