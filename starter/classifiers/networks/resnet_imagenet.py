"""ResNet-18 and ResNet-101 for 32 x 32 images (He et al., Deep Residual Learning, 2016, table 1)."""

from typing import TYPE_CHECKING

from torch import Tensor, nn

from starter.classifiers.networks.network import Network

if TYPE_CHECKING:
    from torchvision.models import ResNet


class _Adapted(Network):
    """torchvision's layers and names behind a 3x3 convolution of stride 1, without the first pooling."""

    def __init__(self, layers: "ResNet") -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        self.bn1 = layers.bn1
        self.layer1, self.layer2 = layers.layer1, layers.layer2
        self.layer3, self.layer4 = layers.layer3, layers.layer4
        self.fc = layers.fc

    @property
    def head(self) -> nn.Linear:
        """`fc`."""
        return self.fc

    def stages(self, x: Tensor) -> list[Tensor]:
        """After `layer1` to `layer4`."""
        maps = [self.bn1(self.conv1(x)).relu_()]
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            maps.append(layer(maps[-1]))
        return maps[1:]


class ResNet18(_Adapted):
    """Eight blocks of two convolutions; d = 512. `stages`: 64, 128, 256 and 512 channels."""

    def __init__(self, num_classes: int) -> None:
        from torchvision.models import resnet18  # slow to import, and needed only here

        super().__init__(resnet18(num_classes=num_classes))


class ResNet101(_Adapted):
    """33 bottlenecks of three convolutions; d = 2048. `stages`: 256, 512, 1024 and 2048 channels."""

    def __init__(self, num_classes: int) -> None:
        from torchvision.models import resnet101  # slow to import, and needed only here

        super().__init__(resnet101(num_classes=num_classes))
