"""Ruler: how far images are from a competition's ID images, in meaning and in style."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from starter.encoders import Encoder
from starter.images.imageset import ImageSet
from starter.observing.cache import Cache, Layout, cache_key
from starter.sets.rendering import FromRecipe, Rendering
from starter.shift.degrees import NEIGHBOUR, shift_degrees
from starter.shift.laid import Laid

VERSION = 1
"""Part of every key of cached degrees: raise it when what is computed changes."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Ruler:
    """An encoder, its LAID matrix, and the features of the ID images that distances are to.

    Attributes:
        encoder: of the images.
        laid: its matrix.
        known: semantic and covariate halves of the ID images, float32 (m, l/2) each.
        digest: identifies all of it.
        device: where distances are computed.
    """

    encoder: Encoder
    laid: Laid
    known: tuple[Floats, Floats]
    digest: str
    device: str = "cpu"

    @classmethod
    def of(cls, encoder: Encoder, laid: Laid, ind: ImageSet, device: str = "cpu") -> "Ruler":
        """The ruler that measures distances from the ID images `ind`.

        Raises:
            UnusableInput: the encoder cannot encode the images.
        """
        matrix = hashlib.sha256(laid.matrix.tobytes()).hexdigest()
        digest = cache_key(VERSION, NEIGHBOUR, encoder.name, matrix, ind.digest)
        return cls(encoder, laid, _halves(FromRecipe.whole(ind), encoder, laid), digest, device)

    def degrees(self, rendering: Rendering, cache: Cache | None = None) -> tuple[Floats, Floats]:
        """Semantic and covariate degrees of a set's images, float32 (n,) each, from the cache when there."""
        key = cache_key(self.digest, rendering.digest)
        shape = (np.float32, (len(rendering),))
        layout: Layout = {"semantic": shape, "covariate": shape}
        found = cache.load("degrees", key, layout) if cache else None
        if found is None:
            halves = _halves(rendering, self.encoder, self.laid)
            semantic, covariate = shift_degrees(halves, self.known, device=self.device)
            found = {"semantic": semantic, "covariate": covariate}
            if cache:
                cache.store("degrees", key, found)
        return found["semantic"], found["covariate"]

    def measure(
        self, renderings: Sequence[Rendering], cache: Cache, progress: bool = True, name: str = "measure"
    ) -> tuple[Floats, Floats]:
        """The degrees of several sets, one after the other, under a tqdm bar of this name."""
        bar = tqdm(renderings, name, unit="set", disable=not progress)
        semantic, covariate = zip(*(self.degrees(each, cache) for each in bar), strict=True)
        return np.concatenate(semantic), np.concatenate(covariate)


def _halves(rendering: Rendering, encoder: Encoder, laid: Laid) -> tuple[Floats, Floats]:
    """The decomposed features of a set, encoded chunk by chunk."""
    features = [encoder.encode_images(_channels_last(chunk)) for chunk in rendering.chunks()]
    return laid.decompose(np.concatenate(features))


def _channels_last(images: torch.Tensor) -> NDArray[np.uint8]:
    return np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())
