"""ORA-B, self-attention over an image's indicators (SYP, fig. 3b); and SYP, its ensemble with ORA-A."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from oracle.ora_a import OraA

if TYPE_CHECKING:
    from torch import nn


@dataclass(eq=False, repr=False)
class OraB(OraA):
    """SYP's oracle with self-attention in place of the MLP (Chen, Zhang & Song 2023).

    All parameters that are not listed here are those of ORA-A.

    Args:
        dropout: Rate in attention and projection, and between the blocks (0.1 in the winner's code).
        tokens: "indicators" for one token per indicator (the natural reading of the paper), "one" for a
            single token (the winner's code).
        heads: Number of attention heads (3 in the winner's code), a divisor of the width, indicators x
            expansion.
    """

    choices: ClassVar = {**OraA.choices, "tokens": ("indicators", "one")}
    dropout: float = 0.1
    tokens: str = "one"
    heads: int = 3

    def _networks(self, inputs: int) -> "list[Callable[[], nn.Module]]":
        from oracle.networks import Attention

        make = partial(Attention, inputs, self.expansion, self.dropout, tokens=self.tokens, heads=self.heads)
        return [make]


class Syp(OraB):
    """SYP: the mean of ORA-A and ORA-B, each trained alone with the same seed (Chen, Zhang & Song 2023).

    The estimate is mean_i 1[(a_i + b_i) / 2 > threshold], with the networks' probabilities a_i and b_i that
    the classifier is right about image i. The parameters are those of ORA-B and apply to both networks,
    except `dropout`, which applies to ORA-B alone.
    """

    def _networks(self, inputs: int) -> "list[Callable[[], nn.Module]]":
        from oracle.networks import Mlp

        return [partial(Mlp, inputs, self.expansion, 0.0), *super()._networks(inputs)]
