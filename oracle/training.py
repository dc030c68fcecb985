"""The training of the oracle's networks (SYP, section 4), with steps written out for the processor.

Between layers as small as an oracle's, autograd and memory that comes and goes take a third of the time. A
step written out is a list of calls on fixed buffers, in which a gradient takes the place of the value that
it belongs to. Dropout draws 16 bits a value.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, cycle, pairwise
from typing import Any

import torch
from torch import Tensor, nn

from oracle.gelu import gelu
from oracle.networks import Attention, Block, Mlp
from submission.errors import UnusableInput
from submission.progress import progress

CHECKED = 100
"""Number of steps between checks that the weights are finite."""


class Program:
    """The calls that add the gradients of a batch of so many rows to those of a network's parameters."""

    def __init__(self, network: Mlp | Attention, table: Tensor, rows: int) -> None:
        self.table, self.batch = table, table.new_empty(rows, table.shape[1])
        self.forward: list[Callable[[], object]] = []
        self.backward: list[Callable[[], object]] = []  # to be called from the last to the first
        self.inputs, self.ones = self.batch[:, :-2], table.new_ones(rows)
        if isinstance(network, Mlp):
            y = self._layers(self.inputs, network.layers)
        else:
            y = self._layers(self.inputs, [network.embed, nn.GELU(), *network.blocks, network.head])
        error, (correct, weight) = torch.empty_like(y), self.batch[:, -2:].split(1, dim=1)
        self.forward += [
            y.sigmoid_,
            partial(torch.sub, y, correct, out=error),
            partial(error.mul_, weight),
            partial(error.mul_, 2 / rows),
            partial(torch.ops.aten.sigmoid_backward.grad_input, error, y, grad_input=y),
        ]

    def run(self, batch: Tensor) -> None:
        """Add the gradients of the loss of these rows of the table."""
        torch.index_select(self.table, 0, batch, out=self.batch)
        for call in self.forward:
            call()
        for call in reversed(self.backward):
            call()

    def _layers(self, x: Tensor, layers: Iterable[nn.Module]) -> Tensor:
        """Write layers that follow each other; returns the buffer of their result."""
        for layer in layers:
            if isinstance(layer, nn.Linear):
                x = self._linear(x, layer)
            elif isinstance(layer, nn.GELU):
                x = self._gelu(x)
            elif isinstance(layer, nn.Dropout):
                self._dropout(x, x.shape[1], layer.p)
            elif isinstance(layer, Block):
                x = self._residual(x, partial(self._attend, block=layer))
                x = self._residual(x, partial(self._layers, layers=layer.mix))
        return x

    def _linear(self, x: Tensor, layer: nn.Linear, first: int = 0) -> Tensor:
        """Write a linear layer, of its outputs those from `first` on."""
        weight, bias = layer.weight.data[first:], layer.bias.data[first:]
        assert layer.weight.grad is not None
        assert layer.bias.grad is not None
        y, gradient = x.new_empty(len(x), len(weight)), layer.weight.grad[first:]
        self.forward.append(partial(torch.addmm, bias, x, weight.t(), out=y))
        if x is not self.inputs:
            self.backward.append(partial(torch.mm, y, weight, out=x))
        self.backward.append(partial(layer.bias.grad[first:].addmv_, y.t(), self.ones))
        if x.shape[1] < y.shape[1]:  # a product with long rows takes a fraction of the time
            product = x.new_empty(x.shape[1], y.shape[1])
            self.backward += [partial(gradient.add_, product.t()), partial(torch.mm, x.t(), y, out=product)]
        else:
            self.backward.append(partial(gradient.addmm_, y.t(), x))
        return y

    def _gelu(self, x: Tensor) -> Tensor:
        y = torch.empty_like(x)
        self.forward.append(partial(gelu, x.view(-1).numpy(), y.view(-1).numpy()))
        self.backward.append(partial(x.mul_, y))  # the derivative
        return y

    def _dropout(self, x: Tensor, groups: int, rate: float) -> None:
        """Write dropout of groups of columns of x, in its place."""
        if rate:
            mask = x.new_empty(len(x), groups, 1)
            bits = torch.empty(-(-mask.numel() // 4), dtype=torch.int64)
            drawn = bits.view(torch.int16)[: mask.numel()].view_as(mask)
            masked = partial(x.view(len(x), groups, -1).mul_, mask)
            share = round((1 - rate) * 2**16)
            self.forward += [
                partial(bits.random_, torch.iinfo(bits.dtype).min, None),
                partial(torch.ge, drawn, 2**15 - share, out=mask),
                partial(mask.div_, share / 2**16),
                masked,
            ]
            self.backward.append(masked)

    def _residual(self, x: Tensor, branch: Callable[[Tensor], Tensor]) -> Tensor:
        """Write the sum of x and a branch from it."""
        y = torch.empty_like(x)
        self.backward.append(partial(x.add_, y))
        z = branch(x)
        self.forward.append(partial(torch.add, x, z, out=y))
        self.backward.append(partial(z.copy_, y))
        return y

    def _attend(self, x: Tensor, block: Block) -> Tensor:
        """Write attention over one token: queries and keys do not matter."""
        value = self._linear(x, block.qkv, first=2 * x.shape[1])
        self._dropout(value, block.heads, block.dropout)
        joined = self._linear(value, block.project)
        self._dropout(joined, joined.shape[1], block.dropout)
        return joined


def gradients(network: nn.Module, table: Tensor) -> Callable[[Tensor], None]:
    """Returns what adds the gradients of a batch: programs on the processor, of ORA-B if it has one token."""
    if isinstance(network, Mlp) or (isinstance(network, Attention) and isinstance(network.embed, nn.Linear)):
        programs = lru_cache(8)(partial(Program, network, table))  # sizes of batches
        if table.device.type == "cpu":
            return lambda batch: programs(len(batch)).run(batch)
    return partial(traced, network, table)


def traced(network: nn.Module, table: Tensor, batch: Tensor) -> None:
    """Add the gradients of a batch to those of a network's parameters, by autograd."""
    rows, (correct, weight) = table[batch, :-2], table[batch, -2:].unbind(1)
    ((network(rows) - correct) ** 2 * weight).mean().backward()


def train(
    network: nn.Module,
    rows: Tensor,
    correct: Tensor,
    weights: Tensor | None,
    batches: Iterator[Tensor],
    optimiser: torch.optim.Optimizer,
    rates: Sequence[float],
) -> None:
    """Train the network in place by mean_i w_i (p_i - correct_i)^2, w 1 if None, for evaluation."""
    network.train()
    table = torch.column_stack([rows, correct, torch.ones_like(rows[:, 0]) if weights is None else weights])
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    add = gradients(network, table)
    for step, rate in enumerate(progress(rates, title=type(network).__name__.lower())):
        batch = next(batches)
        add(batch)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)
        if step % CHECKED == 0 and not finite(network):
            break
    network.eval()
    if not finite(network):
        raise UnusableInput(f"training diverges within {step + 1} steps: lower learning_rate")


def finite(network: nn.Module) -> bool:
    """Returns True if all parameters are finite."""
    return all(bool(torch.isfinite(each).all()) for each in network.parameters())


def descent(
    network: nn.Module, momentum: float, weight_decay: float, decay_biases: bool
) -> torch.optim.Optimizer:
    """Returns stochastic gradient descent on a network's parameters; biases may be free of weight decay."""
    named = [*network.named_parameters()]
    weights = [each for name, each in named if not name.endswith("bias")]
    biases = [each for name, each in named if name.endswith("bias")]
    groups: Any = [{"params": weights}, {"params": biases, "weight_decay": weight_decay * decay_biases}]
    return torch.optim.SGD(groups, lr=0.0, momentum=momentum, weight_decay=weight_decay, fused=True)


def drawn_images(count: int, size: int, seed: int, device: torch.device) -> Iterator[Tensor]:
    """Yield batches of `size` images drawn with replacement from `count`, as indices (size,)."""
    generator = torch.Generator(device).manual_seed(seed)
    while True:
        yield torch.randint(count, (size,), generator=generator, device=device)


def whole_sets(sizes: Sequence[int], device: torch.device) -> Iterator[Tensor]:
    """Yield the rows of one set after another, again and again, as indices."""
    ends = pairwise(accumulate(sizes, initial=0))
    return cycle(torch.arange(start, stop, device=device) for start, stop in ends)
