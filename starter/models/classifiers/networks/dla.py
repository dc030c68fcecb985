"""DLA-34 for 32 x 32 images (Yu et al., Deep Layer Aggregation, CVPR 2018, figure 3 and table 1)."""

import torch
from torch import Tensor, nn

from starter.models.classifiers.networks.network import Network

WIDTHS = (16, 16, 32, 64, 128, 256, 512)
# Levels and stride of the four trees. The published network halves the resolution in each tree and once
# before; for 32 x 32 images only the last three trees do, as in ResNet-18 for such images.
TREES = ((1, 1), (2, 2), (2, 2), (1, 2))


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut, which is max-pooled for a stride and projected to a new width."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.pool = nn.MaxPool2d(stride) if stride > 1 else nn.Identity()
        self.project = nn.Identity() if inputs == outputs else _normalised(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Returns maps (n, outputs, h / stride, w / stride) of x (n, inputs, h, w)."""
        shortcut = self.project(self.pool(x))
        x = self.bn1(self.conv1(x)).relu_()
        return self.bn2(self.conv2(x)).add_(shortcut).relu_()


class Tree(nn.Module):
    """Hierarchical aggregation: 2^levels blocks in a row, whose outputs 1x1 convolutions join in pairs."""

    def __init__(self, levels: int, inputs: int, outputs: int, stride: int, earlier: int = 0) -> None:
        super().__init__()
        self.left: nn.Module
        self.right: nn.Module
        self.root: nn.Module | None = None
        if levels == 1:
            self.left, self.right = Block(inputs, outputs, stride), Block(outputs, outputs, 1)
            self.root = _normalised(2 * outputs + earlier, outputs, 1).append(nn.ReLU(inplace=True))
        else:
            self.left = Tree(levels - 1, inputs, outputs, stride)
            self.right = Tree(levels - 1, outputs, outputs, 1, earlier + outputs)

    def forward(self, x: Tensor, *earlier: Tensor) -> Tensor:
        """Returns maps (n, outputs, h / stride, w / stride) of x (n, inputs, h, w) and the earlier maps."""
        left = self.left(x)
        if self.root is None:
            return self.right(left, *earlier, left)
        return self.root(torch.cat([self.right(left), left, *earlier], dim=1))


class DLA34(Network):
    """DLA-34: three convolutions and four trees of 2, 4, 4 and 2 blocks; 512 features."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        stem = zip((3, *WIDTHS[:2]), WIDTHS[:3], strict=True)
        self.stem = nn.Sequential(*(_normalised(i, o, 3).append(nn.ReLU(inplace=True)) for i, o in stem))
        self.pool = nn.MaxPool2d(2)
        self.trees = nn.ModuleList()
        for index, (levels, stride) in enumerate(TREES):
            inputs, outputs = WIDTHS[index + 2 : index + 4]
            self.trees.append(Tree(levels, inputs, outputs, stride, earlier=inputs if index else 0))
        self.fc = nn.Linear(WIDTHS[-1], num_classes)

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after each tree; all but the first also join the previous tree's pooled maps."""
        first, *rest = self.trees
        maps = [first(self.stem(x))]
        for tree in rest:
            maps.append(tree(maps[-1], self.pool(maps[-1])))
        return maps


def _normalised(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    """Returns a convolution of stride 1 with its batch normalisation."""
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))
