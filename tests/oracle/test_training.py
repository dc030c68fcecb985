"""The trainer against PyTorch's own optimiser, and the weights of the loss."""

import copy

import torch
from torch import nn

from oracle.networks import Mlp
from oracle.training import Training

ROWS = torch.rand(200, 3, generator=torch.Generator().manual_seed(1))
CORRECT = ROWS[:, 0] > 0.4
WEIGHTY = ROWS[:, 1] > 0.7


def reference(network: nn.Module, given: Training, weights: torch.Tensor, sizes=()) -> None:
    """The same steps with torch.optim.SGD and a weight an image."""
    generator = torch.Generator().manual_seed(given.seed)
    named = dict(network.named_parameters())
    free = [] if given.decay_biases else [name for name in named if name.endswith("bias")]
    groups = [
        {"params": [each for name, each in named.items() if name not in free]},
        {"params": [named[name] for name in free], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.SGD(
        groups, given.learning_rate, momentum=given.momentum, weight_decay=given.weight_decay
    )
    for step in range(given.iterations):
        for group in optimiser.param_groups:
            group["lr"] = given.learning_rate * (1 - step / given.iterations) ** given.power
        if sizes:
            place = step % len(sizes)
            batch = torch.arange(sum(sizes[:place]), sum(sizes[: place + 1]))
        else:
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


def test_steps_as_released_take_whole_sets_and_leave_biases_alone():
    torch.manual_seed(0)
    network = Mlp(3, 4, 0.0)
    other = copy.deepcopy(network)
    training, sizes = Training(40, 50, 0.3, 0.9, 0.1, 7, "cpu", 0.9, False), (120, 30, 50)
    training.train(network, ROWS, CORRECT, WEIGHTY, 3.0, sizes)
    reference(other, training, torch.where(WEIGHTY, 3.0, 1.0), sizes)
    for mine, theirs in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-7)
