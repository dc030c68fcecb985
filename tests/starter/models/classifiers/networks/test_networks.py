"""Every architecture: sizes, published names, what it computes against other definitions, and that it trains."""

from pathlib import Path

import pytest
import torch
from slow import some_slow
from torch import nn
from torch.nn import functional
from torchvision.models import densenet121, resnet18, resnet101
from torchvision.models.resnet import BasicBlock, ResNet

from starter.data.sources.glyphs.digits import natural_set
from starter.models.classifiers import ARCHITECTURES, new_network
from starter.models.classifiers.networks import small
from starter.models.classifiers.networks.small import train_small

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
    "small": [(16, 16), (32, 8), (64, 8), (64, 4)],
    "vgg16": [(64, 16), (128, 8), (256, 4), (512, 2), (512, 1)],
}


X = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
PUBLISHED = {"repvgg_a0": ("linear", 356), "resnet56": ("fc", 344)}
"""The head's name, and how many tensors the published weights have."""


@pytest.mark.parametrize("arch", some_slow(ARCHITECTURES, "resnet101", "densenet121", "vgg16"))
def test_every_network_has_its_size_stages_features_and_logits_folded_too(arch, shaken):
    network = shaken(lambda classes: new_network(arch, classes))
    assert sum(parameter.numel() for parameter in network.parameters()) == PARAMETERS[arch]
    maps = network.stages(X)
    assert [tuple(m.shape) for m in maps] == [(2, width, size, size) for width, size in STAGES[arch]]
    pooled = maps[-1].mean((2, 3))
    torch.testing.assert_close(network.features(X), pooled)
    torch.testing.assert_close(network(X), pooled @ network.head.weight.T + network.head.bias)
    assert (network.head.in_features, network.head.out_features) == (STAGES[arch][-1][0], 10)
    folds_to_the_same(network, 58 + 3 + 1 if arch == "densenet121" else 0)


def folds_to_the_same(network, count):
    """Folded, a network has so many batch normalisations left, and the same maps and logits.

    In DenseNet two thirds of them stand before a convolution: one a layer, one a transition, one at the end.
    """
    fast, x = network.folded(), X[:1]
    assert sum(isinstance(module, nn.BatchNorm2d) for module in fast.modules()) == count
    logits = network(x)
    torch.testing.assert_close(fast(x), logits, rtol=0, atol=1e-4 * max(1, float(logits.abs().max())))
    exact = network.double()
    torch.testing.assert_close(exact.folded().stages(x.double()), exact.stages(x.double()))


@pytest.mark.parametrize("arch", PUBLISHED)
def test_names_and_shapes_are_the_published_ones(arch):
    network, (head, count) = new_network(arch, 10), PUBLISHED[arch]
    manifest = Path(__file__).with_name(f"{arch}.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(manifest) == count
    found = [" ".join([name, *map(str, tensor.shape)]) for name, tensor in network.state_dict().items()]
    assert sorted(found) == manifest
    assert network.head is getattr(network, head)


def dla_block(module, x):
    """A basic block whose shortcut is pooled first and projected then."""
    first = functional.relu(module.bn1(module.conv1(x)))
    shortcut = functional.max_pool2d(x, x.shape[-1] // first.shape[-1])
    if x.shape[1] != first.shape[1]:
        shortcut = module.project[1](module.project[0](shortcut))
    return functional.relu(module.bn2(module.conv2(first)) + shortcut)


def dla_join(tree, *maps):
    """An aggregation node: 1x1 convolution of all maps, normalised, ReLU."""
    return functional.relu(tree.root[1](tree.root[0](torch.cat(maps, 1))))


def test_maps_of_dla34_are_joined_as_in_the_papers_figure(shaken):
    network = shaken(ARCHITECTURES["dla34"])
    expected = [network.stem(X)]
    first, second, third, fourth = network.trees
    a = dla_block(first.left, expected[-1])
    expected.append(dla_join(first, dla_block(first.right, a), a))
    for tree in (second, third):
        before = expected[-1]
        a = dla_block(tree.left.left, before)
        node = dla_join(tree.left, dla_block(tree.left.right, a), a)
        a = dla_block(tree.right.left, node)
        last = dla_block(tree.right.right, a)
        expected.append(dla_join(tree.right, last, a, functional.max_pool2d(before, 2), node))
    a = dla_block(fourth.left, expected[-1])
    expected.append(dla_join(fourth, dla_block(fourth.right, a), a, functional.max_pool2d(expected[-1], 2)))
    torch.testing.assert_close(network.stages(X), expected[1:])


def test_densenet121_is_torchvisions(shaken):
    network = shaken(ARCHITECTURES["densenet121"])
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
    torch.testing.assert_close(network(X), reference(X))


@pytest.mark.parametrize("theirs", [resnet18, resnet101])
def test_resnets_for_imagenet_are_torchvisions(theirs, shaken):
    network = shaken(ARCHITECTURES[theirs.__name__])
    reference = theirs(num_classes=10).eval().requires_grad_(False)
    reference.conv1, reference.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    reference.load_state_dict(network.state_dict())
    torch.testing.assert_close(network(X), reference(X))


def test_the_convolutions_of_vgg16_are_configuration_d(shaken):
    network = shaken(ARCHITECTURES["vgg16"])
    convolutions = [module for module in network.modules() if isinstance(module, nn.Conv2d)]
    assert [conv.out_channels for conv in convolutions] == [64, 64, 128, 128, *[256] * 3, *[512] * 6]
    maps, normalisations = X, (m for m in network.modules() if isinstance(m, nn.BatchNorm2d))
    for index, (conv, bn) in enumerate(zip(convolutions, normalisations, strict=True)):
        maps = nn.functional.relu(bn(conv(maps)))
        if index in (1, 3, 6, 9, 12):
            maps = nn.functional.max_pool2d(maps, 2)
    torch.testing.assert_close(network(X), network.head(maps.flatten(1)))


def test_resnet56_is_torchvisions_resnet_of_basic_blocks(shaken):
    network = shaken(ARCHITECTURES["resnet56"])
    reference = ResNet(BasicBlock, [9, 9, 9, 1], num_classes=10).eval()
    reference.inplanes, reference.maxpool, reference.layer4 = 16, nn.Identity(), nn.Identity()
    reference.conv1, reference.bn1 = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
    reference.layer1 = reference._make_layer(BasicBlock, 16, 9)
    reference.layer2 = reference._make_layer(BasicBlock, 32, 9, stride=2)
    reference.layer3, reference.fc = reference._make_layer(BasicBlock, 64, 9, stride=2), nn.Linear(64, 10)
    reference.eval().requires_grad_(False).load_state_dict(network.state_dict())
    torch.testing.assert_close(network(X), reference(X))


def test_training_is_decided_by_its_seed_and_leaves_the_global_generator_alone(monkeypatch):
    monkeypatch.setattr(small, "STEPS", 3)
    train = natural_set("stix", 250, 0, "few")
    before = torch.random.get_rng_state()
    first, again, other = (train_small(train, 10, seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["fc.weight"], other["fc.weight"])
