"""Training against a loop written out: autograd, and descent by its formula."""

import copy

import pytest
import torch

from oracle.networks import Attention, Mlp
from oracle.training import descent, drawn_images, train, whole_sets

CPU = torch.device("cpu")
ROWS = torch.rand(200, 3, generator=torch.Generator().manual_seed(1))
CORRECT = ROWS[:, 0] > 0.4
WEIGHTS = torch.where(ROWS[:, 1] > 0.7, 3.0, 1.0)
RATES = [0.3 * (1 - step / 40) for step in range(40)]
NETWORKS = {
    "ora-a": lambda: Mlp(3, 4, 0.0),
    "ora-a, narrow, with dropout": lambda: Mlp(3, 1, 0.2),
    "ora-b": lambda: Attention(3, 4, 0.1, "one", 3),
    "ora-b, indicators": lambda: Attention(3, 4, 0.1, "indicators", 3),
}


def dropout_by_hand(x, p, training):
    """Dropout by four parts of 16 bits of each integer, read as signed: kept from p on."""
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    parts = [((bits >> 16 * part) + 2**15) % 2**16 for part in range(4)]  # the lowest first
    order = torch.stack(parts, dim=1).flatten()[: x.numel()].view_as(x)
    share = round((1 - p) * 2**16) / 2**16
    return torch.where(order >= (1 - share) * 2**16, x / share, 0) if training and p else x


def by_hand(network, batches, weights, decay_biases):
    """SGD with momentum by its formula: v = 0.9 v + gradient + decay * weight, weight -= rate * v."""
    network.train()
    named = dict(network.named_parameters())
    velocities = {name: torch.zeros_like(each) for name, each in named.items()}
    for rate, batch in zip(RATES, batches, strict=False):
        errors = weights[batch] * (network(ROWS[batch]) - CORRECT[batch].float()) ** 2
        gradients = torch.autograd.grad(errors.mean(), list(named.values()))
        with torch.no_grad():
            for (name, weight), gradient in zip(named.items(), gradients, strict=True):
                decay = 0.0 if name.endswith("bias") and not decay_biases else 0.1
                velocities[name] = 0.9 * velocities[name] + gradient + decay * weight
                weight -= rate * velocities[name]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(
    ("decay_biases", "sizes", "weights"), [(True, (), WEIGHTS), (False, (120, 30, 50), None)]
)
def test_steps_are_those_of_autograd_and_sgd(name, decay_biases, sizes, weights, monkeypatch):
    def batches():
        return whole_sets(sizes, CPU) if sizes else drawn_images(200, 50, 7, CPU)

    torch.manual_seed(0)
    network = NETWORKS[name]()
    other = copy.deepcopy(network)
    optimiser = descent(network, 0.9, 0.1, decay_biases)
    torch.manual_seed(3)
    train(network, ROWS, CORRECT, weights, batches(), optimiser, RATES)
    torch.manual_seed(3)
    if name != "ora-b, indicators":  # whose steps are autograd's
        monkeypatch.setattr(
            torch.nn.functional, "dropout", lambda x, p, training, _=False: dropout_by_hand(x, p, training)
        )
    by_hand(other, batches(), torch.ones(200) if weights is None else weights, decay_biases)
    for mine, expected in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-4, atol=1e-6)
    assert not network.training
