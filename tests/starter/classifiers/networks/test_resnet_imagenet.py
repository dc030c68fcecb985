from collections.abc import Callable

import pytest
import torch
from torch import nn
from torchvision.models import ResNet, resnet18, resnet101

from starter.classifiers import Network
from starter.classifiers.networks.resnet_imagenet import ResNet18, ResNet101


@pytest.mark.parametrize(("mine", "theirs"), [(ResNet18, resnet18), (ResNet101, resnet101)])
def test_the_rest_is_torchvisions(
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
