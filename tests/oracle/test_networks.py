"""The two networks against PyTorch's own attention, and by their sizes."""

import pytest
import torch
from torch import nn

from oracle.networks import Attention, Block, Mlp


def parameters(network):
    return sum(parameter.numel() for parameter in network.parameters())


def test_the_networks_are_the_winners_at_ratio_8():
    network = Mlp(6, 8, 0.0)
    widths = [layer.out_features for layer in network.layers if isinstance(layer, nn.Linear)]
    assert widths == [48, 48, 48, 24, 1]
    attention = Attention(6, 8, 0.1, "one", 3)
    assert (parameters(network), parameters(attention)) == (6241, 28609)
    assert [type(module) for module in attention.blocks] == [Block, nn.Dropout, Block]


@pytest.mark.parametrize("tokens", [1, 5])
def test_attention_is_pytorchs(tokens):
    torch.manual_seed(0)
    block, reference = Block(12, 3, 0.0), nn.MultiheadAttention(12, 3, batch_first=True)
    reference.in_proj_weight.data, reference.in_proj_bias.data = block.qkv.weight.data, block.qkv.bias.data
    reference.out_proj.load_state_dict(block.project.state_dict())
    rows = torch.randn(7, tokens, 12)
    attended = block.project(block._attend(rows))
    torch.testing.assert_close(attended, reference(rows, rows, rows)[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("tokens", ["one", "indicators"])
def test_the_result_is_a_probability_of_each_image_by_itself(tokens):
    torch.manual_seed(0)
    network = Attention(6, 4, 0.1, tokens, 2).eval()
    rows = torch.rand(9, 6)
    result = network(rows)
    assert result.shape == (9,)
    assert ((result > 0) & (result < 1)).all()
    torch.testing.assert_close(network(rows[3:4]), result[3:4])
    assert network(rows[:1]) != network(rows[:1].flip(1)), "indicators are told apart"
