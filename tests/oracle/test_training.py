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
def test_steps_are_those_of_autograd_and_sgd(name, decay_biases, sizes, weights):
    def batches():
        return whole_sets(sizes, CPU) if sizes else drawn_images(200, 50, 7, CPU)

    torch.manual_seed(0)
    network = NETWORKS[name]()
    other = copy.deepcopy(network)
    optimiser = descent(network, 0.9, 0.1, decay_biases)
    torch.manual_seed(3)
    train(network, ROWS, CORRECT, weights, batches(), optimiser, RATES)
    torch.manual_seed(3)
    by_hand(other, batches(), torch.ones(200) if weights is None else weights, decay_biases)
    for mine, expected in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-4, atol=1e-6)
    assert not network.training
