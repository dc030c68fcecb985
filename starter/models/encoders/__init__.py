"""Encoders of images, as a referee is, and of images and texts, as a grid needs; and of any functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from submission.arrays import FloatArray, Pixels
from submission.errors import UnusableInput


class ImageEncoder(Protocol):
    """An encoder that maps images to features."""

    @property
    def name(self) -> str:
        """Name that identifies the encoder and its weights; a LAID matrix or a probe belongs to it."""

    def encode_images(self, images: Pixels) -> FloatArray:
        """Returns features, finite float32 (n, l), of uint8 images (n, h, w, 3), each row of its own."""


class Encoder(ImageEncoder, Protocol):
    """An encoder that maps images and texts to unit vectors in a common space, near if they match."""

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Returns the features of m texts, float32 (m, l), rows of length 1."""


@dataclass(frozen=True)
class EncoderPair:
    """An encoder from any two functions, checked and scaled to length 1; a prompt has "{}" for a class."""

    name: str
    image_function: Callable[[Pixels], FloatArray]
    text_function: Callable[[list[str]], FloatArray]
    prompts: tuple[str, ...] = ("{}",)

    def encode_images(self, images: Pixels) -> FloatArray:
        """See `Encoder`."""
        return unit_rows(self.image_function(images), len(images), f"{self.name}: image features")

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """See `Encoder`."""
        return unit_rows(self.text_function(list(texts)), len(texts), f"{self.name}: text features")


@dataclass(frozen=True)
class ImageFunction:
    """An image encoder from any function; its features are checked and not scaled."""

    name: str
    function: Callable[[Pixels], FloatArray]

    def encode_images(self, images: Pixels) -> FloatArray:
        """See `ImageEncoder`."""
        return finite_rows(self.function(images), len(images), f"{self.name}: image features")


def finite_rows(features: FloatArray, n: int, what: str) -> FloatArray:
    """Returns `features` as float32 (n, l), after checks of shape and values; the error includes `what`."""
    rows = np.asarray(features, np.float32)
    if rows.ndim != 2 or len(rows) != n or not rows.shape[1] or not np.isfinite(rows).all():
        raise UnusableInput(f"{what} must be finite numbers ({n}, d), a row for each input, got {rows.shape}")
    return rows


def unit_rows(features: FloatArray, n: int, what: str) -> FloatArray:
    """Returns `features` as float32 (n, l) with rows of length 1, after the checks of `finite_rows`."""
    rows = finite_rows(features, n, what)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        raise UnusableInput(f"{what} hold rows of zeros")
    return rows / lengths
