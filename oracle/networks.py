"""The oracle's two networks, ORA-A, an MLP, and ORA-B, self-attention (SYP, fig. 3), and their training."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, cycle, pairwise
from typing import Any

import torch
from torch import nn

from submission.errors import UnusableInput
from submission.progress import progress

INIT = 0.02
"""Standard deviation of the truncated normal of ORA-B's initial weights (winner's code)."""
CHECKED = 100
"""Number of steps between checks that the loss is finite."""


class Mlp(nn.Module):
    """ORA-A: an MLP from p indicators to one probability; of 6 at ratio 8 the widths are 6-48-48-48-24-1."""

    def __init__(self, inputs: int, expansion: int, dropout: float) -> None:
        super().__init__()
        width = inputs * expansion
        self.layers = nn.Sequential(
            *(nn.Linear(inputs, width), nn.GELU()),
            *(nn.Linear(width, width), nn.GELU(), nn.Dropout(dropout)),
            *(nn.Linear(width, width), nn.GELU(), nn.Dropout(dropout)),
            *(nn.Linear(width, (width + 1) // 2), nn.GELU(), nn.Dropout(dropout)),
            nn.Linear((width + 1) // 2, 1),
        )

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Returns the probabilities (b,) of rows (b, p)."""
        return torch.sigmoid(self.layers(rows)[:, 0])


class Block(nn.Module):
    """Multi-head self-attention (eqs. 13-15) and two linear layers with GELU, each with a residual."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.mix = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Returns the transformed tokens (b, t, d)."""
        joined = self.project(self._attend(tokens))
        tokens = tokens + nn.functional.dropout(joined, self.dropout, self.training)
        return tokens + self.mix(tokens)

    def _attend(self, tokens: torch.Tensor) -> torch.Tensor:
        b, t, d = tokens.shape
        if t == 1:  # a softmax over one token is 1: queries and keys do not matter
            value = nn.functional.linear(tokens, self.qkv.weight[2 * d :], self.qkv.bias[2 * d :])
            weight = nn.functional.dropout(value.new_ones(b, self.heads, 1), self.dropout, self.training)
            return (value.view(b, self.heads, -1) * weight).view(b, 1, d)
        parts = self.qkv(tokens).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        rate = self.dropout if self.training else 0.0
        query, key, value = parts.unbind(0)
        seen = nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=rate)
        return seen.transpose(1, 2).reshape(b, t, d)


class Attention(nn.Module):
    """ORA-B: two blocks over the tokens and a linear layer to one probability.

    `tokens` "indicators" gives each indicator its own token and averages them at the end, the natural reading
    of the paper. "one" embeds all in one token with a GELU, as the winner's code; attention is then a linear
    map.
    """

    def __init__(self, inputs: int, expansion: int, dropout: float, tokens: str, heads: int) -> None:
        super().__init__()
        width = inputs * expansion
        if heads < 1 or width % heads:
            raise UnusableInput(
                f"heads must divide the width, {inputs} indicators x expansion {expansion} = {width}, "
                f"got {heads}"
            )
        self.embed = nn.Linear(inputs, width) if tokens == "one" else Apart(inputs, width)
        first, second = (Block(width, heads, dropout) for _ in range(2))
        self.blocks = nn.Sequential(first, nn.Dropout(dropout), second)
        self.head = nn.Linear(width, 1)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=INIT)
                nn.init.zeros_(module.bias)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Returns the probabilities (b,) of rows (b, p)."""
        tokens = self.embed(rows)
        if tokens.ndim == 2:
            tokens = nn.functional.gelu(tokens)[:, None]
        return torch.sigmoid(self.head(self.blocks(tokens).mean(dim=1))[:, 0])


class Apart(nn.Module):
    """Embedding of each indicator in its own token: value times a learnt direction plus a learnt offset."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.randn(inputs, width))
        self.offset = nn.Parameter(torch.randn(inputs, width))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Returns the tokens (b, p, d) of rows (b, p)."""
        return rows[:, :, None] * self.direction + self.offset


def train(
    network: nn.Module,
    rows: torch.Tensor,
    correct: torch.Tensor,
    weights: torch.Tensor | None,
    batches: Iterator[Any],
    optimiser: torch.optim.Optimizer,
    rates: Sequence[float],
) -> None:
    """Train the network in place by mean_i w_i (p_i - correct_i)^2, w 1 if None, for evaluation."""
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
