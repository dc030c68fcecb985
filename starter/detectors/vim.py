"""ViM: virtual-logit matching (Wang et al., CVPR 2022).

"ViM: Out-Of-Distribution with Virtual-logit Matching", arXiv 2203.10807; computed by pytorch-ood.
"""

from dataclasses import dataclass

import torch

from starter.detectors.detector import Detector, Scores, features
from starter.observing.observation import Observation, Source


@dataclass
class ViM(Detector):
    """alpha |R (h - u)| - log sum_c exp(f_c(h)), with penultimate features h and logits f.

    R projects onto the complement of the training features' principal space. u is the point at which the
    head's logits are 0, in least squares. alpha scales the first term so that its mean over the training
    images equals the mean of their largest logit.

    Attributes:
        largest: Largest dimension of the principal space, which is min(largest, d // 2) for d features.
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
