"""torchvision's DenseNet-121, ResNet-18, ResNet-101 and VGG-16, adapted to 32 x 32 images.

Papers: Huang et al., Densely Connected Convolutional Networks, CVPR 2017; He et al., Deep Residual Learning
for Image Recognition, CVPR 2016, table 1; Simonyan & Zisserman, Very Deep Convolutional Networks for
Large-Scale Image Recognition, ICLR 2015, configuration D (with batch normalisation).
"""

from typing import TYPE_CHECKING

from torch import Tensor, nn

from starter.classifiers.networks.network import Network

if TYPE_CHECKING:
    from torchvision.models import ResNet


class DenseNet121(Network):
    """DenseNet-121 from torchvision, after one 3x3 convolution of stride 1; 1024 features.

    `stages` gives the maps of the four dense blocks, 256, 512, 1024 and 1024 channels, the last normalised.
    """

    def __init__(self, num_classes: int) -> None:
        from torchvision.models import densenet121  # slow to import, and needed only here

        super().__init__()
        model = densenet121(num_classes=num_classes)
        layers = model.features
        self.conv0 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        self.blocks = nn.ModuleList(layers.get_submodule(f"denseblock{i}") for i in (1, 2, 3, 4))
        self.transitions = nn.ModuleList(layers.get_submodule(f"transition{i}") for i in (1, 2, 3))
        self.norm5 = layers.norm5
        self.fc = model.classifier

    @property
    def head(self) -> nn.Linear:
        """The layer `fc`."""
        return self.fc

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after each of `blocks`, the last followed by `norm5` and ReLU."""
        maps = [self.blocks[0](self.conv0(x))]
        for transition, block in zip(self.transitions, self.blocks[1:], strict=True):
            maps.append(block(transition(maps[-1])))
        maps[-1] = self.norm5(maps[-1]).relu_()
        return maps


class _Adapted(Network):
    """torchvision's layers and names, after a 3x3 convolution of stride 1, without the first pooling."""

    def __init__(self, layers: "ResNet") -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        self.bn1 = layers.bn1
        self.layer1, self.layer2 = layers.layer1, layers.layer2
        self.layer3, self.layer4 = layers.layer3, layers.layer4
        self.fc = layers.fc

    @property
    def head(self) -> nn.Linear:
        """The layer `fc`."""
        return self.fc

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after `layer1` to `layer4`."""
        maps = [self.bn1(self.conv1(x)).relu_()]
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            maps.append(layer(maps[-1]))
        return maps[1:]


class ResNet18(_Adapted):
    """ResNet-18: 8 blocks of two convolutions; 512 features. `stages`: 64, 128, 256 and 512 channels."""

    def __init__(self, num_classes: int) -> None:
        from torchvision.models import resnet18  # slow to import, and needed only here

        super().__init__(resnet18(num_classes=num_classes))


class ResNet101(_Adapted):
    """ResNet-101: 33 bottlenecks of three convolutions; 2048 features.

    `stages` gives maps with 256, 512, 1024 and 2048 channels.
    """

    def __init__(self, num_classes: int) -> None:
        from torchvision.models import resnet101  # slow to import, and needed only here

        super().__init__(resnet101(num_classes=num_classes))


class VGG16(Network):
    """VGG-16: the 13 convolutions of torchvision's `vgg16_bn`, and one linear layer; 512 features.

    `stages` gives the maps after each of the five max-poolings, with 64, 128, 256, 512 and 512 channels.
    """

    def __init__(self, num_classes: int) -> None:
        from torchvision.models.vgg import cfgs, make_layers  # slow to import, and needed only here

        super().__init__()
        self.layers = make_layers(cfgs["D"], batch_norm=True)
        self.fc = nn.Linear(512, num_classes)

    @property
    def head(self) -> nn.Linear:
        """The layer `fc`."""
        return self.fc

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after each max-pooling."""
        maps = []
        for layer in self.layers:
            x = layer(x)
            if isinstance(layer, nn.MaxPool2d):
                maps.append(x)
        return maps
