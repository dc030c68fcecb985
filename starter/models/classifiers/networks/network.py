"""Network: the form of every architecture of the kit, with logits, features and feature maps."""

import copy
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.fx import Node, Tracer


class Network(nn.Module, ABC):
    """A network whose last layer is linear; in the kit's own it reads the last maps' mean over positions.

    The input is normalised images, float (n, 3, h, w). A subclass defines `stages`, and a `head` unless its
    last layer is called `fc`. Its `code` decides the logits besides the architecture's name and the tensors;
    `layout` is the order in memory of images and weights.
    """

    code: str = ""
    layout: torch.memory_format = torch.channels_last

    @abstractmethod
    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the feature maps after each stage, each (n, c, h', w'); features are the last's mean."""

    @property
    def head(self) -> nn.Linear | None:
        """The last layer, features (n, d) to logits (n, k); None for a network that gives logits only."""
        layer = self.fc
        assert isinstance(layer, nn.Linear)
        return layer

    def features(self, x: Tensor) -> Tensor:
        """Returns the penultimate features, float32 (n, d), or without a head the logits (n, k)."""
        return self.stages(x)[-1].mean(dim=(2, 3), dtype=torch.float32)

    def forward(self, x: Tensor) -> Tensor:
        """Returns the logits (n, k) of normalised images x (n, 3, h, w)."""
        features = self.features(x)
        return features if self.head is None else self.head(features)

    def folded(self) -> "Network":
        """Returns a copy with each BatchNorm2d that alone reads a convolution merged into it."""
        # No module with weights may be called twice in one pass.
        root = Part(copy.deepcopy(self), "stages")  # each map is an output, so that none is merged away
        modules = dict(root.named_modules())
        for node in Tracer().trace(root).nodes:
            bn, before = modules.get(str(node.target)), node.args[0] if node.args else None
            if not isinstance(bn, nn.BatchNorm2d) or not isinstance(before, Node):
                continue
            conv = modules.get(str(before.target))
            if isinstance(conv, nn.Conv2d) and len(before.users) == 1:
                replace_weights(conv, *merged(conv.weight, conv.bias, bn))
                root.set_submodule(str(node.target), nn.Identity())
        return root.network


class Part(nn.Module):
    """A part of a network as a module that can be traced: its "features" or "stages", or its "head"."""

    def __init__(self, network: Network, name: str) -> None:
        super().__init__()
        self.network = network
        self.name = name

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Returns features (n, d), the maps (n, c, h', w') of each stage, or logits (n, k)."""
        if self.name == "stages":
            return tuple(self.network.stages(x))
        if self.name == "features":
            return (self.network.features(x),)
        assert self.network.head is not None
        return (self.network.head(x),)


def merged(kernel: Tensor, bias: Tensor | None, bn: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """Returns kernel (c, i, h, w) and bias (c,), float64, of a convolution and the `bn` after it, in one."""
    assert bn.running_mean is not None
    assert bn.running_var is not None
    scale = bn.weight.double() / (bn.running_var.double() + bn.eps).sqrt()
    shift = -bn.running_mean.double() if bias is None else bias.double() - bn.running_mean.double()
    return kernel.double() * scale.view(-1, 1, 1, 1), bn.bias.double() + shift * scale


def replace_weights(conv: nn.Conv2d, kernel: Tensor, bias: Tensor) -> None:
    """Replace the kernel and bias of `conv`, in its own dtype and without gradients."""
    dtype = conv.weight.dtype
    conv.weight = nn.Parameter(kernel.to(dtype), requires_grad=False)
    conv.bias = nn.Parameter(bias.to(dtype), requires_grad=False)
