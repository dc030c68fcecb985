"""ODIN: maximum softmax of perturbed images at a high temperature (Liang et al., ICLR 2018).

"Enhancing The Reliability of Out-of-distribution Image Detection in Neural Networks", arXiv 1706.02690;
computed by pytorch-ood. IP+TS+MLS is the same with MaxLogit (Recalcati et al., DSAA 2023).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from starter.observing.detectors.detector import Detector, Scores
from starter.observing.observation import Observation, Source

BATCH = 50
"""Number of images per backward pass, during which all activations of the network are in memory."""


@dataclass
class ODIN(Detector):
    """-max_c softmax(f(x') / T)_c, with x' = x - eps sign(grad_x CE(f(x) / T, argmax_c f_c(x))).

    CE is the cross-entropy: images move towards their predicted class. eps is for pixel values in [0, 1]. If
    `largest` is "logit", it is IP+TS+MLS, -max_c f_c(x') / T.
    """

    largest: str = "softmax"
    temperature: float = 1000.0
    eps: float = 0.0014

    online = True

    def _fit(self, source: Source) -> None:
        self.classifier_ = source.classifier

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxLogit, MaxSoftmax  # slow to import

        logits = self._moved_logits(observation)
        if self.largest == "logit":
            return MaxLogit.score(logits / self.temperature)
        return MaxSoftmax.score(logits, self.temperature)

    def _moved_logits(self, observation: Observation) -> Tensor:
        """Returns the logits f(x') of the perturbed images, computed in float32: float64 (n, k)."""
        from pytorch_ood.detector import odin_preprocessing  # slow to import

        classifier, found = self.classifier_, []
        assert classifier is not None
        network, std = classifier.deployed, list(classifier.std)
        for images in torch.from_numpy(observation.images()).movedim(-1, 1).split(BATCH):
            inputs = classifier.normalised(images)
            moved = odin_preprocessing(
                network, inputs, eps=self.eps, temperature=self.temperature, norm_std=std
            )
            with torch.inference_mode():
                found.append(network(moved).cpu().double())
        return torch.cat(found)
