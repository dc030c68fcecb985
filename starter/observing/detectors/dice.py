"""DICE: energy after the head's weights with small contributions are set to 0 (Sun & Li, ECCV 2022).

"DICE: Leveraging Sparsification for Out-of-Distribution Detection", arXiv 2111.09805; computed by
pytorch-ood.
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import linear

from starter.observing.detectors.detector import Detector, Scores, features, tensor
from starter.observing.observation import Observation, Source


@dataclass
class DICE(Detector):
    """-log sum_c exp(f_c), with logits f of a head that keeps the weights with the largest W_ci E[h_i].

    E[h] are the mean penultimate features of the training images; `sparsity` of the weights are set to 0.
    """

    sparsity: float = 0.9

    needs = ("features",)

    def _fit(self, source: Source) -> None:
        from pytorch_ood.detector import DICE as Library  # slow to import

        known = features(source.train_ref)
        weight, bias = torch.tensor(source.head_weight), torch.tensor(source.head_bias)
        library = Library(None, weight, bias, self.sparsity).fit_features(known, torch.zeros(len(known)))
        self.weight_, self.bias_ = tensor(library.masked_w), tensor(bias)

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import EnergyBased  # slow to import

        # The library's own scoring gives the same scores, but needs an array (n, k, d).
        return EnergyBased.score(linear(features(observation), self.weight_, self.bias_))
