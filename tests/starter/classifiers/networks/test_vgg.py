from collections.abc import Callable

import pytest
import torch
from torch import nn

from starter.classifiers import Classifier, Network
from starter.classifiers.networks.vgg import VGG16
from submission.errors import UnusableInput


def test_the_convolutions_are_configuration_d(shaken: Callable[[Callable[[int], Network]], Network]) -> None:
    network = shaken(VGG16)
    convolutions = [module for module in network.modules() if isinstance(module, nn.Conv2d)]
    assert [conv.out_channels for conv in convolutions] == [64, 64, 128, 128, *[256] * 3, *[512] * 6]
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    maps, normalisations = x, (m for m in network.modules() if isinstance(m, nn.BatchNorm2d))
    for index, (conv, bn) in enumerate(zip(convolutions, normalisations, strict=True)):
        maps = nn.functional.relu(bn(conv(maps)))
        if index in (1, 3, 6, 9, 12):
            maps = nn.functional.max_pool2d(maps, 2)
    torch.testing.assert_close(network(x), network.head(maps.flatten(1)))


def test_images_that_are_too_small_are_refused(shaken: Callable[[Callable[[int], Network]], Network]) -> None:
    classifier = Classifier("v", "vgg16", shaken(VGG16), tuple("0123456789"), (0.5,) * 3, (0.5,) * 3)
    with pytest.raises(UnusableInput, match="classifier 'v' cannot take 2 images of 16 x 16 pixels: "):
        classifier(torch.zeros(2, 3, 16, 16, dtype=torch.uint8))
