"""ResNet-56 for 32 x 32 images (He et al., Deep Residual Learning for Image Recognition, 2016, sec. 4.2)."""

from torch import Tensor, nn

from starter.classifiers.networks.network import Network

WIDTHS = (16, 32, 64)
BLOCKS_PER_STAGE = 9


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut; a 1x1 convolution fits the shortcut if the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample: nn.Module | None = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Returns maps (n, outputs, h / stride, w / stride) of x (n, inputs, h, w)."""
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.bn1(self.conv1(x)).relu_()
        return self.bn2(self.conv2(x)).add_(shortcut).relu_()


class ResNet56(Network):
    """ResNet-56; 64 features.

    Names and shapes of parameters are those of `cifar10_resnet56` in
    github.com/chenyaofo/pytorch-cifar-models. `stages` gives the maps of the three groups of blocks, with 16,
    32 and 64 channels.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, WIDTHS[0], 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(WIDTHS[0])
        self.layer1 = _stage(WIDTHS[0], WIDTHS[0], stride=1)
        self.layer2 = _stage(WIDTHS[0], WIDTHS[1], stride=2)
        self.layer3 = _stage(WIDTHS[1], WIDTHS[2], stride=2)
        self.fc = nn.Linear(WIDTHS[2], num_classes)

    @property
    def head(self) -> nn.Linear:
        """The layer `fc`."""
        return self.fc

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after `layer1`, `layer2` and `layer3`."""
        maps = [self.bn1(self.conv1(x)).relu_()]
        for layer in (self.layer1, self.layer2, self.layer3):
            maps.append(layer(maps[-1]))
        return maps[1:]


def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    first = Block(inputs, outputs, stride)
    return nn.Sequential(first, *(Block(outputs, outputs, 1) for _ in range(BLOCKS_PER_STAGE - 1)))
