"""Network: what every architecture of the kit offers besides its logits."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from starter.classifiers.networks.folding import folded


class Network(nn.Module, ABC):
    """A convolutional network with global average pooling and one linear layer on top.

    The input is the normalised image, float (n, 3, h, w). A subclass gives `stages` and `head`.

    Attributes:
        code: what decides the logits beside the architecture's name and the tensors, as a line of text.
    """

    code: str = ""

    @abstractmethod
    def stages(self, x: Tensor) -> list[Tensor]:
        """The feature maps after each stage, each (n, c, h', w'); the last is pooled into the features."""

    @property
    @abstractmethod
    def head(self) -> nn.Linear:
        """The last layer: features (n, d) to logits (n, k)."""

    def features(self, x: Tensor) -> Tensor:
        """The penultimate features, float32 (n, d): the last stage's maps, averaged over their positions."""
        return self.stages(x)[-1].mean(dim=(2, 3), dtype=torch.float32)

    def forward(self, x: Tensor) -> Tensor:
        """The logits, (n, k)."""
        return self.head(self.features(x))

    def folded(self) -> "Network":
        """A copy for inference: the same maps in fewer operations, from other tensors."""
        return folded(self)
