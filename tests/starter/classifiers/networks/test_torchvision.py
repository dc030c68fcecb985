""""""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torchvision.models import ResNet, densenet121, resnet18, resnet101

from starter.classifiers import Classifier, Network
from starter.classifiers.networks.torchvision import VGG16, DenseNet121, ResNet18, ResNet101
from submission.errors import UnusableInput


def test_the_rest_is_torchvisions(shaken: Callable[[Callable[[int], Network]], Network]) -> None:
    network = shaken(DenseNet121)
    reference = densenet121(num_classes=10).eval().requires_grad_(False)
    reference.features.conv0 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    for name in ("norm0", "relu0", "pool0"):
        setattr(reference.features, name, nn.Identity())
    names = {"conv0.": "features.conv0.", "norm5.": "features.norm5.", "fc.": "classifier."}
    names |= {f"blocks.{i}.": f"features.denseblock{i + 1}." for i in range(4)}
    names |= {f"transitions.{i}.": f"features.transition{i + 1}." for i in range(3)}
    state = {}
    for name, tensor in network.state_dict().items():
        prefix = next(prefix for prefix in names if name.startswith(prefix))
        state[names[prefix] + name.removeprefix(prefix)] = tensor
    reference.load_state_dict(state)
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(network(x), reference(x))


@pytest.mark.parametrize(("mine", "theirs"), [(ResNet18, resnet18), (ResNet101, resnet101)])
def test_the_rest_is_torchvisions_of_resnet_imagenet(
    mine: type[Network],
    theirs: Callable[..., ResNet],
    shaken: Callable[[Callable[[int], Network]], Network],
) -> None:
    network = shaken(mine)
    reference = theirs(num_classes=10).eval().requires_grad_(False)
    reference.conv1, reference.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    reference.load_state_dict(network.state_dict())
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(network(x), reference(x))


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
