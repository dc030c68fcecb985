"""ProjNorm: the distance that training on a set's own predictions moves the weights.

Paper: Yu, Yang, Wei, Ma & Steinhardt, "Predicting Out-of-Distribution Error with the Projection Norm", ICML
2022, arXiv 2202.05834. Code: github.com/yaodongyu/ProjNorm.
"""

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from baselines.contract.estimator import Measured
from starter.observing.observation import Observation, Source
from submission.arrays import FloatArray, IntArray
from submission.progress import progress

if TYPE_CHECKING:
    import torch


class ProjNorm(Measured):
    """Distance that weights move when trained on the set's predictions; linear regression (Yu et al. 2022).

    It is the distance |w_set - w_ref|_2 of two fine-tuned networks. Both start from the same weights and take
    the same number of SGD steps (momentum 0.9, cosine decay, batch normalisation in training mode): w_set on
    the set with the classifier's predictions as labels, w_ref on the labelled source. In the paper both start
    from the pretrained weights from which the classifier was fine-tuned; a competition has no such weights,
    so they start from the classifier. Batches are drawn with replacement, so a set may have any size.

    Args:
        iterations: Number of steps on every set, an int >= 1 (500 in the paper's code).
        batch_size: Number of images in a step, an int >= 1.
        learning_rate: Initial learning rate, above 0.
        seed: Seed of the batches, and of dropout if the network has it.
    """

    def __init__(
        self, iterations: int = 500, batch_size: int = 128, learning_rate: float = 1e-3, seed: int = 0
    ) -> None:
        self.iterations = iterations
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.seed = seed

    def _prepare(self, source: Source) -> None:
        for name in ("iterations", "batch_size"):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        assert source.classifier is not None, "this source was made without its network"
        self.classifier_ = source.classifier
        self.reference_ = self._fine_tuned(source.observation, source.labels)

    def _measure(self, observation: Observation) -> FloatArray:
        weights = self._fine_tuned(observation, observation.predicted)
        return (weights - self.reference_).norm().numpy()[None]  # infinite if learning_rate is too high

    def _state(self) -> dict[str, Any]:
        return {"classifier": self.classifier_, "reference": self.reference_.numpy(), **self._table.state()}

    def _restore(self, state: Mapping[str, Any]) -> None:
        import torch

        self.classifier_, self.reference_ = state["classifier"], torch.from_numpy(state["reference"])
        self._learn_again(state)

    def _fine_tuned(self, observation: Observation, labels: IntArray) -> "torch.Tensor":
        """Returns all parameters as one float64 vector after training on the images, sorted by logits."""
        import torch
        from torch.nn.functional import cross_entropy

        order = np.lexsort(observation.logits.T)
        images = torch.from_numpy(observation.images()[order]).permute(0, 3, 1, 2)
        truth = torch.from_numpy(labels[order])
        classifier = self.classifier_
        mean, std = (torch.tensor(values).view(3, 1, 1) for values in (classifier.mean, classifier.std))
        network = copy.deepcopy(classifier.network).requires_grad_(True).train()
        optimiser = torch.optim.SGD(network.parameters(), self.learning_rate, momentum=0.9)
        decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.iterations)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            for _ in progress(range(self.iterations), f"projnorm {observation.set_name}", unit="steps"):
                batch = torch.randint(len(images), (self.batch_size,))
                inputs = ((images[batch] / 255 - mean) / std).to(classifier.device)
                loss = cross_entropy(network(inputs), truth[batch].to(classifier.device))
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                decay.step()
        return torch.cat([each.detach().flatten() for each in network.parameters()]).cpu().double()
