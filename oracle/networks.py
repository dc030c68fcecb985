"""The oracle's two networks: ORA-A, an MLP, and ORA-B, self-attention (SYP, fig. 3)."""

import torch
from torch import nn

from submission.errors import UnusableInput

INIT = 0.02
"""Standard deviation of the truncated normal of ORA-B's initial weights (winner's code)."""


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
