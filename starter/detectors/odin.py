"""ODIN: maximum softmax of perturbed images at a high temperature (Liang et al., ICLR 2018).

"Enhancing The Reliability of Out-of-distribution Image Detection in Neural Networks", arXiv 1706.02690;
computed by pytorch-ood.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from starter.classifiers import Classifier
from starter.detectors.detector import Detector, Scores
from starter.observing.observation import Observation, Source

BATCH = 50
"""Number of images per backward pass, during which all activations of the network are in memory."""


@dataclass
class ODIN(Detector):
    """-max_c softmax(f(x') / T)_c, with x' = x - eps sign(grad_x CE(f(x) / T, argmax_c f_c(x))).

    CE is the cross-entropy: images move towards their predicted class.

    Attributes:
        temperature: T, a float > 0.
        eps: Step of each pixel value, for pixel values in [0, 1].
    """

    temperature: float = 1000.0
    eps: float = 0.0014

    online = True

    def _fit(self, source: Source) -> None:
        self.classifier_ = source.classifier

    def _score(self, observation: Observation) -> Scores:
        from pytorch_ood.detector import MaxSoftmax  # slow to import

        logits = moved_logits(observation, self.classifier_, self.temperature, self.eps)
        return MaxSoftmax.score(logits, self.temperature)


def moved_logits(
    observation: Observation, classifier: Classifier | None, temperature: float, eps: float
) -> Tensor:
    """Returns the logits f(x') of the perturbed images, float64 (n, k), from a forward pass in float32."""
    from pytorch_ood.detector import odin_preprocessing  # slow to import

    assert classifier is not None
    network, found = classifier.deployed, []
    for images in torch.from_numpy(observation.images()).movedim(-1, 1).split(BATCH):
        inputs = classifier.normalised(images)
        moved = odin_preprocessing(
            network, inputs, eps=eps, temperature=temperature, norm_std=list(classifier.std)
        )
        with torch.inference_mode():
            found.append(network(moved).cpu().double())
    return torch.cat(found)
