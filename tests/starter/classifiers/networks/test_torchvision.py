from collections.abc import Callable

import torch
from torch import nn
from torchvision.models import densenet121

from starter.classifiers import Network
from starter.classifiers.networks.torchvision import DenseNet121


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
