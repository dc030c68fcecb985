"""Encoder: what LAID needs of a model that puts images and texts into one space; and a pair of functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from submission.arrays import FloatArray, Pixels
from submission.errors import UnusableInput


class Encoder(Protocol):
    """Images and texts -> unit rows in one space, where an image is near the texts that fit it."""

    @property
    def name(self) -> str:
        """What tells it from other encoders, its weights too: a LAID matrix belongs to one."""

    def encode_images(self, images: Pixels) -> FloatArray:
        """uint8 RGB images (n, h, w, 3) -> float32 (n, l), rows of length 1."""

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """m texts -> float32 (m, l), rows of length 1."""


@dataclass(frozen=True)
class EncoderPair:
    """An encoder of any two functions, whose features are checked and scaled to length 1.

    Attributes:
        name: change it when the weights change.
        image_function: uint8 images (n, h, w, 3) -> (n, l).
        text_function: a list of m texts -> (m, l).
    """

    name: str
    image_function: Callable[[Pixels], NDArray[np.floating]]
    text_function: Callable[[list[str]], NDArray[np.floating]]

    def encode_images(self, images: Pixels) -> FloatArray:
        """See `Encoder`. Raises UnusableInput where the function gives no finite (n, l)."""
        return unit_rows(self.image_function(images), len(images), f"{self.name}: image features")

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """See `Encoder`. Raises UnusableInput where the function gives no finite (m, l)."""
        return unit_rows(self.text_function(list(texts)), len(texts), f"{self.name}: text features")


def unit_rows(features: NDArray[np.floating], n: int, what: str) -> FloatArray:
    """`features` as float32 (n, l) with rows of length 1.

    Raises:
        UnusableInput: they are not (n, l), not finite, or have a row of zeros; the message says `what`.
    """
    rows = np.asarray(features, np.float32)
    if rows.ndim != 2 or len(rows) != n or not rows.shape[1]:
        raise UnusableInput(f"{what} must be ({n}, l), got {rows.shape}")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise UnusableInput(f"{what} hold NaN, infinite values or rows of zeros")
    return rows / lengths
