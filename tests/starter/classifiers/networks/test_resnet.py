from pathlib import Path

import pytest
import torch
from torch.nn import functional
from torchvision.models.resnet import BasicBlock

from starter.classifiers.networks.resnet import Block, ResNet56


@pytest.fixture
def network() -> ResNet56:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return ResNet56(10).eval()


def test_names_and_shapes_are_the_published_ones(network: ResNet56) -> None:
    manifest = Path(__file__).with_name("resnet56.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(manifest) == 344
    assert (
        sorted(" ".join([name, *map(str, t.shape)]) for name, t in network.state_dict().items()) == manifest
    )


def test_stages_features_head_and_logits(network: ResNet56) -> None:
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        maps, features, logits = network.stages(x), network.features(x), network(x)
    assert [tuple(m.shape) for m in maps] == [(2, 16, 32, 32), (2, 32, 16, 16), (2, 64, 8, 8)]
    pooled = functional.adaptive_avg_pool2d(maps[-1], 1).flatten(1)
    torch.testing.assert_close(features, pooled)
    torch.testing.assert_close(logits, pooled @ network.fc.weight.T + network.fc.bias)
    assert network.head is network.fc


@pytest.mark.parametrize(("inputs", "outputs", "stride"), [(16, 16, 1), (16, 32, 2)])
def test_block_equals_torchvisions(inputs: int, outputs: int, stride: int) -> None:
    generator = torch.Generator().manual_seed(2)
    block = Block(inputs, outputs, stride).eval()
    reference = BasicBlock(inputs, outputs, stride, block.downsample).eval()
    state = {
        name: torch.rand(t.shape, generator=generator) if t.is_floating_point() else t
        for name, t in block.state_dict().items()
    }
    block.load_state_dict(state)
    reference.load_state_dict(state)
    x = torch.randn(2, inputs, 8, 8, generator=generator)
    with torch.no_grad():
        torch.testing.assert_close(block(x), reference(x))


def test_a_training_step_reaches_every_parameter(network: ResNet56) -> None:
    network.train()
    network(torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(3))).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())
