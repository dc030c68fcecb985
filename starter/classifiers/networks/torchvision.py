"""DenseNet-121 for 32 x 32 images (Huang et al., Densely Connected Convolutional Networks, CVPR 2017)."""

from torch import Tensor, nn

from starter.classifiers.networks.network import Network


class DenseNet121(Network):
    """torchvision's blocks and transitions behind one 3x3 convolution of stride 1; d = 1024.

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
        """`fc`."""
        return self.fc

    def stages(self, x: Tensor) -> list[Tensor]:
        """After each of `blocks`, the last followed by `norm5` and ReLU."""
        maps = [self.blocks[0](self.conv0(x))]
        for transition, block in zip(self.transitions, self.blocks[1:], strict=True):
            maps.append(block(transition(maps[-1])))
        maps[-1] = self.norm5(maps[-1]).relu_()
        return maps
