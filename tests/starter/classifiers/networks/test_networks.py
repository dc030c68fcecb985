import subprocess
import sys
from collections.abc import Callable

import pytest
import torch

from starter.classifiers import ARCHITECTURES, Network, new_network
from submission.errors import UnusableInput

# Parameters for ten classes, as the definitions' own sources count them: torchvision's and timm's counts for
# 1,000 classes, less their first convolution and last layer, plus the 3x3 one and the layer for ten.
PARAMETERS = {
    "densenet121": 7_978_856 - 9_408 - 128 - 1_025_000 + 1_728 + 10_250,
    "dla34": 15_742_104 - 2_352 - 513_000 + 432 + 5_130,
    "repvgg_a0": 7_840_874,
    "resnet101": 44_549_160 - 9_408 - 2_049_000 + 1_728 + 20_490,
    "resnet18": 11_689_512 - 9_408 - 513_000 + 1_728 + 5_130,
    "resnet56": 855_770,
    "small": 61_338,
    "vgg16": 138_365_992 - 123_642_856 + 5_130,
}
STAGES = {
    "densenet121": [(256, 32), (512, 16), (1024, 8), (1024, 4)],
    "dla34": [(64, 32), (128, 16), (256, 8), (512, 4)],
    "repvgg_a0": [(48, 32), (48, 32), (96, 16), (192, 8), (1280, 4)],
    "resnet101": [(256, 32), (512, 16), (1024, 8), (2048, 4)],
    "resnet18": [(64, 32), (128, 16), (256, 8), (512, 4)],
    "resnet56": [(16, 32), (32, 16), (64, 8)],
    "small": [(16, 16), (32, 16), (64, 8), (64, 4)],
    "vgg16": [(64, 16), (128, 8), (256, 4), (512, 2), (512, 1)],
}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_network_has_its_size_stages_features_and_logits(
    arch: str, shaken: Callable[[Callable[[int], Network]], Network]
) -> None:
    network = shaken(lambda classes: new_network(arch, classes))
    assert sum(parameter.numel() for parameter in network.parameters()) == PARAMETERS[arch]
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    maps = network.stages(x)
    assert [tuple(m.shape) for m in maps] == [(2, width, size, size) for width, size in STAGES[arch]]
    pooled = maps[-1].mean((2, 3))
    torch.testing.assert_close(network.features(x), pooled)
    torch.testing.assert_close(network(x), pooled @ network.head.weight.T + network.head.bias)
    assert network.head.out_features == 10


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_network_trains(arch: str) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = new_network(arch, 3).train()
        network(torch.randn(4, 3, 32, 32)).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(
        UnusableInput, match="'resnet9' is no architecture of the kit, which has densenet121, dla34"
    ):
        new_network("resnet9", 10)


def test_torchvision_is_imported_only_where_a_network_needs_it() -> None:
    code = "import sys, starter.classifiers as c; c.new_network('dla34', 2); sys.exit('torchvision' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
