"""Training of networks that predict from an image's indicators whether the classifier is right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle, pairwise
from typing import Any

import torch
from torch import nn
from torch.optim.sgd import sgd
from tqdm import trange

from oracle.limits import check_real, check_whole
from submission.errors import UnusableInput

CHECKED = 100
"""Number of steps between checks that the loss is finite."""
LIMITS = {
    "iterations": (1, 10_000_000),
    "batch_size": (1, 100_000),
    "seed": (0, 2**63 - 1),
}
"""Smallest and largest allowed value of each whole number."""


@dataclass(frozen=True)
class Training:
    """Settings of the training: stochastic gradient descent with momentum and a rate that falls to 0.

    Attributes:
        iterations: Number of steps (30,000 in the paper).
        batch_size: Number of images in a step, drawn with replacement from all sets (10,000 in the paper).
        learning_rate: Initial learning rate (0.1 in the paper; 0.05 for RepVGG-A0).
        momentum: Momentum of SGD (0.9 in the winner's code).
        weight_decay: Weight decay of SGD (5e-4 in the winner's code).
        seed: Seed of initialisation, batches and dropout.
        device: Device that trains: cpu, cuda, ...
        power: Power of the decay: the rate at a step is learning_rate * (1 - step / iterations)^power (1 in
            the paper).
        decay_biases: True if weight decay also applies to biases.

    Raises:
        UnusableInput: a field is out of range.
    """

    iterations: int
    batch_size: int
    learning_rate: float
    momentum: float
    weight_decay: float
    seed: int
    device: str
    power: float = 1.0
    decay_biases: bool = True

    def __post_init__(self) -> None:
        for name, (low, high) in LIMITS.items():
            check_whole(name, getattr(self, name), low, high)
        check_real("learning_rate", self.learning_rate, 0 < self.learning_rate <= 1e6, "in (0, 1e6]")
        check_real("momentum", self.momentum, 0 <= self.momentum < 1, "in [0, 1)")
        check_real("weight_decay", self.weight_decay, 0 <= self.weight_decay <= 1, "in [0, 1]")
        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise UnusableInput(f"device {self.device!r} cannot be used here: {reason}") from error

    def train(
        self,
        network: nn.Module,
        inputs: torch.Tensor,
        correct: torch.Tensor,
        weighty: torch.Tensor | None = None,
        weight: float = 1.0,
        sizes: Sequence[int] = (),
    ) -> None:
        """Train the network in place, and leave it in evaluation mode.

        The loss is mean_i w_i (p_i - correct_i)^2. The whole table is one tensor on the device, so that a
        batch is only an index.

        Args:
            network: Network from rows (b, p) to probabilities (b,).
            inputs: Indicators, float32 (n, p), on the device.
            correct: True for images that are classified correctly, bool (n,).
            weighty: True (n,) for images with w_i = `weight`; None for w_i = 1 everywhere.
            weight: Weight of the images in `weighty`.
            sizes: Numbers of images of the sets. If given, each step uses one whole set, in their order,
                again and again, in place of images drawn from all sets.

        Raises:
            UnusableInput: the loss, or a weight at the end, is not finite.
        """
        descents = self._descents(network)
        batches: Iterator[Any] = self._whole(sizes) if sizes else self._drawn(len(inputs))
        network.train()
        for step in trange(self.iterations, desc=type(network).__name__.lower(), leave=False):
            batch = next(batches)
            errors = (network(inputs[batch]) - correct[batch].float()) ** 2
            if weighty is not None:
                errors = torch.where(weighty[batch], weight * errors, errors)
            loss = errors.mean()
            loss.backward()
            for descent in descents:
                descent.step(self.learning_rate * (1 - step / self.iterations) ** self.power)
            if step % CHECKED == 0 and not torch.isfinite(loss):
                raise self._diverged(f"the loss is {loss.item()} at step {step}")
        network.eval()
        if not all(torch.isfinite(parameter).all() for parameter in network.parameters()):
            raise self._diverged("training ends in weights that are not finite")

    def _drawn(self, count: int) -> Iterator[torch.Tensor]:
        """Yield batches of images drawn with replacement, as indices."""
        generator = torch.Generator(self.device).manual_seed(int(self.seed))
        while True:
            yield torch.randint(count, (self.batch_size,), generator=generator, device=self.device)

    def _whole(self, sizes: Sequence[int]) -> Iterator[slice]:
        """Yield one set after another, again and again, as slices."""
        ends = [0, *accumulate(map(int, sizes))]
        return cycle(slice(start, stop) for start, stop in pairwise(ends))

    def _descents(self, network: nn.Module) -> list["Descent"]:
        """Returns one descent for all parameters, or one for biases and one for the others."""
        if self.decay_biases:
            return [Descent(list(network.parameters()), self.momentum, self.weight_decay)]
        named = [*network.named_parameters()]
        biases = [parameter for name, parameter in named if name.endswith("bias")]
        others = [parameter for name, parameter in named if not name.endswith("bias")]
        return [
            Descent(others, self.momentum, self.weight_decay),
            Descent(biases, self.momentum, 0.0),
        ]

    def _diverged(self, problem: str) -> UnusableInput:
        return UnusableInput(f"{problem}: lower learning_rate, which is {self.learning_rate}")


class Descent:
    """Stochastic gradient descent with momentum, with the same bits as torch.optim.SGD.

    torch.optim.SGD imports PyTorch's compiler on first use, which takes 180 MB of memory and a second or
    more.
    """

    def __init__(self, parameters: list[nn.Parameter], momentum: float, weight_decay: float) -> None:
        self.parameters: list[torch.Tensor] = [*parameters]
        self.momentum, self.weight_decay = momentum, weight_decay
        self.velocities: list[torch.Tensor | None] = [None] * len(parameters)

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Update the parameters by their gradients, and delete the gradients.

        Args:
            rate: Learning rate.
        """
        sgd(
            self.parameters,
            [parameter.grad for parameter in self.parameters if parameter.grad is not None],
            self.velocities,
            weight_decay=self.weight_decay,
            momentum=self.momentum,
            lr=rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )
        for parameter in self.parameters:
            parameter.grad = None
