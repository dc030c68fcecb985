"""Max-Cosine: the largest cosine of the features with a class's weights (Zhang & Xiang, CVPR 2023)."""

from dataclasses import dataclass

from torch.nn.functional import normalize

from starter.detectors.detector import Detector, Scores, features, tensor
from starter.observing.observation import Observation, Source


@dataclass
class MaxCosine(Detector):
    """-max_c cos(h, w_c), in [-1, 1]; the head's bias is left out. A vector of length 0 has the cosine 0."""

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        self.directions_ = normalize(tensor(source.head_weight))

    def _score(self, observation: Observation) -> Scores:
        return -(normalize(features(observation)) @ self.directions_.T).max(dim=1).values
