"""Networks of torchvision's parts, adapted to 32 x 32 images: ResNet-18, 56 and 101, DenseNet-121, VGG-16.

Papers: He et al., Deep Residual Learning for Image Recognition, CVPR 2016, table 1 and section 4.2; Huang et
al., Densely Connected Convolutional Networks, CVPR 2017; Simonyan & Zisserman, Very Deep Convolutional
Networks for Large-Scale Image Recognition, ICLR 2015, configuration D (with batch normalisation). torchvision
is slow to import, and imported only when one of these networks is made.
"""

from torch import Tensor, nn

from starter.models.classifiers.networks.network import Network


class ResNet(Network):
    """Residual groups after a 3x3 convolution, named as torchvision's or chenyaofo's `cifar10_resnet56`."""

    def __init__(self, conv1: nn.Conv2d, bn1: nn.BatchNorm2d, layers: list[nn.Module], fc: nn.Linear) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv1, bn1
        self.layers = tuple(f"layer{number}" for number in range(1, len(layers) + 1))
        for name, layer in zip(self.layers, layers, strict=True):
            self.add_module(name, layer)
        self.fc = fc

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after each group of blocks."""
        maps = [self.bn1(self.conv1(x)).relu_()]
        for name in self.layers:
            maps.append(self.get_submodule(name)(maps[-1]))
        return maps[1:]


def resnet(name: str, num_classes: int) -> ResNet:
    """Returns the ResNet of a name, as resnet18, after one 3x3 convolution in place of its first layers."""
    from torchvision import models

    made = models.get_model(name, num_classes=num_classes)
    layers = [made.layer1, made.layer2, made.layer3, made.layer4]
    return ResNet(nn.Conv2d(3, 64, 3, padding=1, bias=False), made.bn1, layers, made.fc)


def resnet56(num_classes: int) -> ResNet:
    """Returns ResNet-56: 27 blocks of two convolutions; maps of 16, 32 and 64 channels."""
    conv1, bn1 = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
    layers: list[nn.Module] = [_group(16, 16, 1), _group(16, 32, 2), _group(32, 64, 2)]
    return ResNet(conv1, bn1, layers, nn.Linear(64, num_classes))


def _group(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    """Returns nine blocks; in the first a 1x1 convolution fits the shortcut if the shape changes."""
    from torchvision.models.resnet import BasicBlock

    first = BasicBlock(inputs, outputs, stride)
    if stride != 1 or inputs != outputs:
        shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
        first.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))
    return nn.Sequential(first, *(BasicBlock(outputs, outputs) for _ in range(8)))


class DenseNet121(Network):
    """DenseNet-121 after one 3x3 convolution of stride 1; 1024 features."""

    def __init__(self, num_classes: int) -> None:
        from torchvision.models import densenet121

        super().__init__()
        model = densenet121(num_classes=num_classes)
        layers = model.features
        self.conv0 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        self.blocks = nn.ModuleList(layers.get_submodule(f"denseblock{i}") for i in (1, 2, 3, 4))
        self.transitions = nn.ModuleList(layers.get_submodule(f"transition{i}") for i in (1, 2, 3))
        self.norm5 = layers.norm5
        self.fc = model.classifier

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after each of `blocks`, the last followed by `norm5` and ReLU."""
        maps = [self.blocks[0](self.conv0(x))]
        for transition, block in zip(self.transitions, self.blocks[1:], strict=True):
            maps.append(block(transition(maps[-1])))
        maps[-1] = self.norm5(maps[-1]).relu_()
        return maps


class VGG16(Network):
    """VGG-16: 13 convolutions and one linear layer; 512 features."""

    def __init__(self, num_classes: int) -> None:
        from torchvision.models.vgg import cfgs, make_layers

        super().__init__()
        self.layers = make_layers(cfgs["D"], batch_norm=True)
        self.fc = nn.Linear(512, num_classes)

    def stages(self, x: Tensor) -> list[Tensor]:
        """Returns the maps after each max-pooling."""
        maps = []
        for layer in self.layers:
            x = layer(x)
            if isinstance(layer, nn.MaxPool2d):
                maps.append(x)
        return maps
