"""The two networks against PyTorch's own attention and by their sizes; their training against a loop written out."""

import copy

import pytest
import torch
from torch import nn

from oracle.networks import Attention, Block, Mlp, descent, drawn_images, train, whole_sets


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


ROWS = torch.rand(200, 3, generator=torch.Generator().manual_seed(1))
CORRECT = ROWS[:, 0] > 0.4
WEIGHTS = torch.where(ROWS[:, 1] > 0.7, 3.0, 1.0)
RATES = [0.3 * (1 - step / 40) for step in range(40)]


def by_hand(network, batches, decay_biases):
    """SGD with momentum by its formula: v = 0.9 v + gradient + decay * weight, weight -= rate * v."""
    named = dict(network.named_parameters())
    velocities = {name: torch.zeros_like(each) for name, each in named.items()}
    for rate, batch in zip(RATES, batches, strict=False):
        errors = (network(ROWS[batch]) - CORRECT[batch].float()) ** 2
        gradients = torch.autograd.grad((WEIGHTS[batch] * errors).mean(), list(named.values()))
        with torch.no_grad():
            for (name, weight), gradient in zip(named.items(), gradients, strict=True):
                decay = 0.0 if name.endswith("bias") and not decay_biases else 0.1
                velocities[name] = 0.9 * velocities[name] + gradient + decay * weight
                weight -= rate * velocities[name]


@pytest.mark.parametrize("decay_biases", [True, False])
@pytest.mark.parametrize("sizes", [(), (120, 30, 50)])
def test_steps_are_those_of_sgd(decay_biases, sizes):
    def batches():
        return whole_sets(sizes) if sizes else drawn_images(200, 50, 7, torch.device("cpu"))

    torch.manual_seed(0)
    network = Mlp(3, 4, 0.0)
    other = copy.deepcopy(network)
    train(network, ROWS, CORRECT, WEIGHTS, batches(), descent(network, 0.9, 0.1, decay_biases), RATES)
    by_hand(other, batches(), decay_biases)
    for mine, expected in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-4, atol=1e-6)
    assert not network.training
