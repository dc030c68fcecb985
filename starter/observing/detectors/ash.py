"""ASH: energy after all but an image's largest activations are set to 0 (Djurisic et al., ICLR 2023).

"Extremely Simple Activation Shaping for Out-of-Distribution Detection", arXiv 2209.09858; computed by
pytorch-ood.
"""

from dataclasses import dataclass

import torch

from starter.observing.detectors.detector import Detector, Scores, features, head
from starter.observing.observation import Observation, Source


@dataclass
class ASH(Detector):
    """-log sum_c exp(f_c(h')), with the shaped features h' of the penultimate features h.

    The smallest features of an image, `percentile` of all, are set to 0. Variant "b" sets the m that remain
    to sum(h) / m; "s" multiplies them by exp(sum of all features / sum of the remaining ones).
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
        return torch.where(given.any(dim=1), scores, nothing)  # "s" is 0 / 0 without activations
