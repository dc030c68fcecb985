"""RepVGG-A0 for 32 x 32 images (Ding et al., RepVGG: Making VGG-style ConvNets Great Again, CVPR 2021)."""

import copy
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from starter.models.classifiers.networks.network import Network, merged, replace_weights

# Blocks, channels and first stride of each stage; stages 0 and 1 keep the 32 x 32 resolution.
STAGES = ((1, 48, 1), (2, 48, 1), (4, 96, 2), (14, 192, 2), (1, 1280, 2))


def _branch(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Sequential:
    """Returns a convolution and its batch normalisation."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(OrderedDict(conv=conv, bn=nn.BatchNorm2d(outputs)))


class Block(nn.Module):
    """The sum of a 3x3, a 1x1 and, unless the shape changes, an identity branch; then ReLU."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        same = inputs == outputs and stride == 1
        self.rbr_identity = nn.BatchNorm2d(inputs) if same else None
        self.rbr_dense: Any = _branch(inputs, outputs, 3, stride)
        self.rbr_1x1: Any = _branch(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Returns maps (n, outputs, h / stride, w / stride) of x (n, inputs, h, w)."""
        total = self.rbr_dense(x).add_(self.rbr_1x1(x))
        if self.rbr_identity is not None:
            total.add_(self.rbr_identity(x))
        return total.relu_()

    def folded(self) -> nn.Sequential:
        """Returns one 3x3 convolution and ReLU, equal to this block in evaluation mode (section 3.3)."""
        conv, bn = copy.deepcopy(self.rbr_dense)
        point, point_bn = self.rbr_1x1
        kernel, bias = merged(conv.weight, None, bn)
        points = [merged(point.weight, None, point_bn)]
        if self.rbr_identity is not None:
            identity = torch.eye(len(bias), device=bias.device)[:, :, None, None]
            points.append(merged(identity, None, self.rbr_identity))
        for point, shift in points:
            kernel, bias = kernel + pad(point, (1, 1, 1, 1)), bias + shift
        replace_weights(conv, kernel, bias)
        return nn.Sequential(conv, nn.ReLU(inplace=True))


class RepVGGA0(Network):
    """RepVGG-A0 in training form, named as `cifar10_repvgg_a0` in chenyaofo/pytorch-cifar-models."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        inputs = 3
        for index, (blocks, outputs, stride) in enumerate(STAGES):
            first = Block(inputs, outputs, stride)
            rest = [Block(outputs, outputs, 1) for _ in range(blocks - 1)]
            self.add_module(f"stage{index}", first if index == 0 else nn.Sequential(first, *rest))
            inputs = outputs
        self.linear = nn.Linear(inputs, num_classes)

    @property
    def head(self) -> nn.Linear:
        """The layer `linear`."""
        return self.linear

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after `stage0` to `stage4`."""
        maps = [x]
        for index in range(len(STAGES)):
            maps.append(self.get_submodule(f"stage{index}")(maps[-1]))
        return maps[1:]

    def folded(self) -> "RepVGGA0":
        """Returns a copy in which each block is one convolution."""
        network = copy.deepcopy(self)
        for name, module in self.named_modules():
            if isinstance(module, Block):
                network.set_submodule(name, module.folded())
        return network
