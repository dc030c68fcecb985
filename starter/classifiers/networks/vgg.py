"""VGG-16 with batch normalisation for 32 x 32 images (Simonyan & Zisserman, 2015, configuration D)."""

from torch import Tensor, nn

from starter.classifiers.networks.network import Network


class VGG16(Network):
    """The thirteen convolutions of torchvision's `vgg16_bn`, and one linear layer instead of three; d = 512.

    `stages` gives the maps after each of the five max-poolings: 64, 128, 256, 512 and 512 channels.
    """

    def __init__(self, num_classes: int) -> None:
        from torchvision.models.vgg import cfgs, make_layers  # slow to import, and needed only here

        super().__init__()
        self.layers = make_layers(cfgs["D"], batch_norm=True)
        self.fc = nn.Linear(512, num_classes)

    @property
    def head(self) -> nn.Linear:
        """`fc`."""
        return self.fc

    def stages(self, x: Tensor) -> list[Tensor]:
        """After each max-pooling."""
        maps = []
        for layer in self.layers:
            x = layer(x)
            if isinstance(layer, nn.MaxPool2d):
                maps.append(x)
        return maps
