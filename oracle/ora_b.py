"""ORA-B: self-attention over the indicators of an image.

Paper: Chen, Zhang & Song, "Scoring Your Prediction on Unseen Data", CVPR Workshops 2023, fig. 3b.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from oracle.indicators import SIX
from oracle.ora_a import OraA

if TYPE_CHECKING:
    from torch import nn


TOKENS = ("indicators", "one")
"""The tokens of attention: one for each indicator, or one for all."""


class OraB(OraA):
    """Two blocks of self-attention and two linear layers in place of ORA-A's MLP.

    All parameters that are not listed here are those of ORA-A.

    Args:
        dropout: Rate in attention and projection, and between the blocks (0.1 in the winner's code).
        tokens: "indicators" for one token per indicator (the natural reading of the paper), "one" for a
            single token (the winner's code), or "cv" to choose by cross-validation by family.
        heads: Number of attention heads (3 in the winner's code), a divisor of the width, indicators x
            expansion.
    """

    choices: ClassVar = {**OraA.choices, "tokens": TOKENS}

    def __init__(
        self,
        indicators: str = SIX,
        normalisation: str = "set",
        estimate: str = "threshold",
        threshold: float = 0.5,
        iterations: int = 30_000,
        batch_size: int = 10_000,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        weight_decay: float = 5e-4,
        positive_weight: float = 3.0,
        low_accuracy: float = 0.3,
        expansion: int = 8,
        dropout: float = 0.1,
        tokens: str = "one",
        heads: int = 3,
        variant: str = "paper",
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        super().__init__(
            indicators=indicators,
            normalisation=normalisation,
            estimate=estimate,
            threshold=threshold,
            iterations=iterations,
            batch_size=batch_size,
            learning_rate=learning_rate,
            momentum=momentum,
            weight_decay=weight_decay,
            positive_weight=positive_weight,
            low_accuracy=low_accuracy,
            expansion=expansion,
            dropout=dropout,
            variant=variant,
            device=device,
            seed=seed,
        )
        self.tokens = tokens
        self.heads = heads

    def _networks(self, inputs: int) -> "list[Callable[[], nn.Module]]":
        from oracle.networks import Attention

        return [partial(Attention, inputs, self.expansion, self.dropout, self.chosen_["tokens"], self.heads)]
