from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from starter.classifiers.networks.repvgg import Block, RepVGGA0


@pytest.fixture(scope="module")
def network() -> RepVGGA0:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return RepVGGA0(10).eval()


def test_names_and_shapes_are_the_published_ones(network: RepVGGA0) -> None:
    manifest = Path(__file__).with_name("repvgg_a0.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(manifest) == 356
    assert (
        sorted(" ".join([name, *map(str, t.shape)]) for name, t in network.state_dict().items()) == manifest
    )


def test_stages_features_head_and_logits(network: RepVGGA0) -> None:
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        maps, features, logits = network.stages(x), network.features(x), network(x)
    sizes = [(2, 48, 32, 32), (2, 48, 32, 32), (2, 96, 16, 16), (2, 192, 8, 8), (2, 1280, 4, 4)]
    assert [tuple(m.shape) for m in maps] == sizes
    pooled = functional.adaptive_avg_pool2d(maps[-1], 1).flatten(1)
    torch.testing.assert_close(features, pooled)
    torch.testing.assert_close(logits, pooled @ network.linear.weight.T + network.linear.bias)
    assert network.head is network.linear


@pytest.mark.parametrize(("inputs", "outputs", "stride"), [(6, 6, 1), (6, 8, 1), (6, 8, 2)])
def test_block_equals_one_3x3_convolution(inputs: int, outputs: int, stride: int) -> None:
    """The paper's section 3.3: the three branches are one 3x3 convolution, computed here in float64."""
    generator = torch.Generator().manual_seed(2)
    block = Block(inputs, outputs, stride).double().eval()
    state = block.state_dict()
    for name, tensor in state.items():
        if tensor.is_floating_point():
            state[name] = torch.rand(tensor.shape, generator=generator, dtype=torch.float64)
    block.load_state_dict(state)

    def folded(weight: torch.Tensor, bn: str) -> tuple[torch.Tensor, torch.Tensor]:
        scale = state[f"{bn}.weight"] / (state[f"{bn}.running_var"] + 1e-5).sqrt()
        return weight * scale.view(-1, 1, 1, 1), state[f"{bn}.bias"] - state[f"{bn}.running_mean"] * scale

    kernel, bias = folded(state["rbr_dense.conv.weight"], "rbr_dense.bn")
    point, point_bias = folded(state["rbr_1x1.conv.weight"], "rbr_1x1.bn")
    kernel[:, :, 1:2, 1:2] += point
    bias = bias + point_bias
    assert (block.rbr_identity is not None) == (inputs == outputs and stride == 1)
    if block.rbr_identity is not None:
        same, same_bias = folded(torch.eye(inputs, dtype=torch.float64)[:, :, None, None], "rbr_identity")
        kernel[:, :, 1:2, 1:2] += same
        bias = bias + same_bias
    x = torch.randn(2, inputs, 8, 8, generator=generator, dtype=torch.float64)
    expected = functional.conv2d(x, kernel, bias, stride, padding=1).relu()
    fast = block.folded()
    assert [type(layer) for layer in fast] == [nn.Conv2d, nn.ReLU]
    with torch.no_grad():
        torch.testing.assert_close(block(x), expected)
        torch.testing.assert_close(fast(x), expected)


def test_the_folded_network_has_one_convolution_a_block(network: RepVGGA0) -> None:
    fast = network.folded()
    assert sum(isinstance(module, nn.Conv2d) for module in fast.modules()) == 22
    assert sum(isinstance(module, Block) for module in network.modules()) == 22
    assert not any(isinstance(module, (Block, nn.BatchNorm2d)) for module in fast.modules())
