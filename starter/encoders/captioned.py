"""Captioned images: what each shows and in what style, told in phrases; what the small encoders learn from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ABSENT = -1


@dataclass(frozen=True, eq=False)
class Captioned:
    """Images and, of each, one value of every attribute: first its meaning, then its covariates.

    Attributes:
        images: uint8 (n, h, w, 3).
        values: int64 (n, a), indices into the phrases of each attribute; ABSENT where it does not apply.
        phrases: of each of the a attributes, the phrase of each value.

    Raises:
        ValueError: shapes do not fit, or a value has no phrase.
    """

    images: NDArray[np.uint8]
    values: NDArray[np.int64]
    phrases: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.images), len(self.phrases)):
            raise ValueError(
                f"values must be ({len(self.images)}, {len(self.phrases)}), got {self.values.shape}"
            )
        if (self.values < ABSENT).any() or (self.values >= [len(each) for each in self.phrases]).any():
            raise ValueError("a value has no phrase")

    def caption(self, index: int, told: Sequence[bool]) -> str:
        """What is said of an image when the attributes `told` (a,) are mentioned."""
        values = zip(self.phrases, self.values[index], told, strict=True)
        return ", ".join(phrases[value] for phrases, value, mentioned in values if mentioned and value >= 0)


def join(parts: Sequence[Captioned]) -> Captioned:
    """The images of several parts with the same phrases."""
    images, values = ([getattr(part, name) for part in parts] for name in ("images", "values"))
    return Captioned(np.concatenate(images), np.concatenate(values), parts[0].phrases)
