"""Captioned images: what each shows and in what style, in phrases; what the kit's encoders learn from."""

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
        easy: bool (n,), the images that training begins with.

    Raises:
        ValueError: shapes do not fit, or a value has no phrase.
    """

    images: NDArray[np.uint8]
    values: NDArray[np.int64]
    phrases: tuple[tuple[str, ...], ...]
    easy: NDArray[np.bool_]

    def __post_init__(self) -> None:
        n = len(self.images)
        if self.values.shape != (n, len(self.phrases)) or self.easy.shape != (n,):
            raise ValueError(
                f"values must be ({n}, {len(self.phrases)}) and easy ({n},), "
                f"got {self.values.shape}, {self.easy.shape}"
            )
        if (self.values < ABSENT).any() or (self.values >= [len(each) for each in self.phrases]).any():
            raise ValueError("a value has no phrase")

    def caption(self, index: int, told: Sequence[bool]) -> str:
        """What is said of an image when the attributes `told` (a,) are mentioned."""
        values = zip(self.phrases, self.values[index], told, strict=True)
        return ", ".join(phrases[value] for phrases, value, mentioned in values if mentioned and value >= 0)


def join(parts: Sequence[Captioned]) -> Captioned:
    """The images of several parts with the same phrases."""
    images = np.concatenate([part.images for part in parts])
    values = np.concatenate([part.values for part in parts])
    easy = np.concatenate([part.easy for part in parts])
    return Captioned(images, values, parts[0].phrases, easy)
