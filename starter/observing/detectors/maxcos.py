"""Max-Cosine: the largest cosine between the features and a class's weights (Zhang & Xiang, CVPR 2023).

"Decoupling MaxLogit for Out-of-Distribution Detection".
"""

from dataclasses import dataclass

from torch.nn.functional import normalize

from starter.observing.detectors.detector import Detector, Scores, features, tensor
from starter.observing.observation import Observation, Source


@dataclass
class MaxCosine(Detector):
    """-max_c cos(h, w_c), in [-1, 1], with penultimate features h and the head's weights w_c of class c.

    The head's bias is not used. The cosine with a zero vector is 0.
    """

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        self.directions_ = normalize(tensor(source.head_weight))

    def _score(self, observation: Observation) -> Scores:
        return -(normalize(features(observation)) @ self.directions_.T).max(dim=1).values
