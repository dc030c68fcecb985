"""The trainer against PyTorch's own optimiser, and the weights of the loss."""

import copy

import torch
from torch import nn

from oracle.networks import Mlp
from oracle.training import Training

ROWS = torch.rand(200, 3, generator=torch.Generator().manual_seed(1))
CORRECT = ROWS[:, 0] > 0.4
WEIGHTY = ROWS[:, 1] > 0.7


def reference(network: nn.Module, given: Training, weights: torch.Tensor) -> None:
    """The same steps with torch.optim.SGD and a weight an image."""
    generator = torch.Generator().manual_seed(given.seed)
    optimiser = torch.optim.SGD(
        network.parameters(), given.learning_rate, momentum=given.momentum, weight_decay=given.weight_decay
    )
    for step in range(given.iterations):
        optimiser.param_groups[0]["lr"] = given.learning_rate * (1 - step / given.iterations)
        batch = torch.randint(len(ROWS), (given.batch_size,), generator=generator)
        errors = (network(ROWS[batch]) - CORRECT.float()[batch]) ** 2
        optimiser.zero_grad()
        (errors * weights[batch]).mean().backward()
        optimiser.step()


def test_steps_are_those_of_pytorchs_sgd():
    torch.manual_seed(0)
    network = Mlp(3, 4, 0.0)
    other = copy.deepcopy(network)
    training = Training(40, 50, 0.3, 0.9, 5e-4, 7, "cpu")
    training.train(network, ROWS, CORRECT, WEIGHTY, 3.0)
    reference(other, training, torch.where(WEIGHTY, 3.0, 1.0))
    for mine, theirs in zip(network.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert not network.training
