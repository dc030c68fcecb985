"""Training of networks that predict from an image's indicators whether the classifier is right."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, cycle, pairwise
from typing import Any

import torch
from torch import nn

from submission.errors import UnusableInput
from submission.progress import progress

CHECKED = 100
"""Number of steps between checks that the loss is finite."""


def train(
    network: nn.Module,
    rows: torch.Tensor,
    correct: torch.Tensor,
    weights: torch.Tensor | None,
    batches: Iterator[Any],
    optimiser: torch.optim.Optimizer,
    rates: Sequence[float],
) -> None:
    """Train the network in place, by mean_i w_i (p_i - correct_i)^2, and leave it in evaluation mode.

    The whole table is one tensor on the device, float32 (n, p), so that a batch is only an index. `weights` w
    (n,) are 1 everywhere if None.
    """
    network.train()
    for step, rate in enumerate(progress(rates, title=type(network).__name__.lower())):
        batch = next(batches)
        errors = (network(rows[batch]) - correct[batch].float()) ** 2
        loss = (errors if weights is None else weights[batch] * errors).mean()
        optimiser.zero_grad()
        loss.backward()
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        if step % CHECKED == 0 and not torch.isfinite(loss):
            break
    network.eval()
    if not all(torch.isfinite(parameter).all() for parameter in network.parameters()):
        raise UnusableInput(f"training diverges within {step + 1} steps: lower learning_rate")


def descent(
    network: nn.Module, momentum: float, weight_decay: float, decay_biases: bool
) -> torch.optim.Optimizer:
    """Returns stochastic gradient descent on a network's parameters; biases may be free of weight decay."""
    groups: list[dict[str, Any]] = [{"params": []}, {"params": []}]
    for name, parameter in network.named_parameters():
        groups[name.endswith("bias")]["params"].append(parameter)
    if not decay_biases:
        groups[1]["weight_decay"] = 0.0
    return torch.optim.SGD(groups, lr=0.0, momentum=momentum, weight_decay=weight_decay)


def drawn_images(count: int, size: int, seed: int, device: torch.device) -> Iterator[torch.Tensor]:
    """Yield batches of `size` images drawn with replacement from `count`, as indices (size,)."""
    generator = torch.Generator(device).manual_seed(seed)
    while True:
        yield torch.randint(count, (size,), generator=generator, device=device)


def whole_sets(sizes: Sequence[int]) -> Iterator[slice]:
    """Yield the rows of one set after another, again and again."""
    return cycle(slice(start, stop) for start, stop in pairwise(accumulate(sizes, initial=0)))
