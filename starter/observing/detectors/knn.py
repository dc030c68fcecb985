"""KNN: distance to the k-th nearest training image (Sun et al., ICML 2022).

"Out-of-Distribution Detection with Deep Nearest Neighbors", arXiv 2204.06507; computed by pytorch-ood.
"""

from dataclasses import dataclass

import torch

from starter.observing.detectors.detector import Detector, Scores, features
from starter.observing.observation import Observation, Source
from submission.errors import UnusableInput


@dataclass
class KNN(Detector):
    """|z - z_(k)|, in [0, 2], with normalised features z = h / |h| and the k-th nearest training image z_(k).

    The search is exact. The paper's choice of k for CIFAR-10 is 50.
    """

    k: int = 50

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        from pytorch_ood.detector import KNN as Library  # slow to import

        n = len(source.train_ref)
        if n < self.k:
            raise UnusableInput(f"{self} needs {self.k} training images or more, the source has {n}")
        self.detector_ = Library(None, k=self.k, algorithm="brute")
        self.detector_.knn.set_params(n_jobs=1)  # the library would start a process for every core
        self.detector_.fit_features(features(source.train_ref).float(), torch.zeros(n))

    def _score(self, observation: Observation) -> Scores:
        return self.detector_.predict_features(features(observation).float())
