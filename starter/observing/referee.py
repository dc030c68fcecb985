"""A referee: an encoder trained on other images, with a calibrated linear probe for the classes.

Methods must be fitted to predictions that are out of sample. So the probe learns training images, which are
in no set, and the reference gives its temperature.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from safetensors import SafetensorError
from safetensors.numpy import save

from starter.data.sets.rendering import Rendering
from starter.models.classifiers.weights import with_sorted_header
from starter.models.encoders import ImageEncoder
from starter.observing.cache import Arrays, Cache, Layout, fits
from starter.observing.observe import HALF, Witness
from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput, why
from submission.files import digest_of, write_bytes

VERSION = 2
"""Part of every cache key of a referee: raise it when its values change."""
BINS = 15


@dataclass(frozen=True, eq=False)
class Probe:
    """A map from features to calibrated logits: float32 weight (k, d) and bias (k,), and its accuracy."""

    spec: str
    encoder: str
    weight: FloatArray
    bias: FloatArray
    figures: dict[str, float]

    def logits(self, features: FloatArray) -> FloatArray:
        """Returns calibrated logits, float32 (n, k), of features (n, d)."""
        return features.astype(np.float32) @ self.weight.T + self.bias

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the encoder's name and all values of the probe."""
        return digest_of(
            self.encoder, *(hashlib.sha256(each.tobytes()).hexdigest() for each in (self.weight, self.bias))
        )

    def save(self, path: Path) -> None:
        """Write the probe as safetensors, atomically; the same probe gives the same bytes."""
        values = json.dumps({"spec": self.spec, "encoder": self.encoder, "figures": self.figures})
        data = save({"weight": self.weight, "bias": self.bias}, {"referee": values})
        write_bytes(path, with_sorted_header(data))

    @classmethod
    def load(cls, path: Path, classes: int) -> "Probe":
        """Returns the probe that `save` wrote, of as many classes."""
        try:
            with safetensors.safe_open(path, framework="np") as file:
                arrays = {name: file.get_tensor(name) for name in ("weight", "bias")}
                found = cls(**json.loads((file.metadata() or {})["referee"]), **arrays)
            d = found.weight.shape[-1]
            if not fits(arrays, {"weight": (np.float32, (classes, d)), "bias": (np.float32, (classes,))}):
                raise ValueError(f"no finite weights of the competition's {classes} classes")
        except (OSError, LookupError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
            raise UnusableInput(f"{path} is no referee's probe: {why(error)}") from error
        return found


@dataclass(frozen=True, eq=False)
class Referee(Witness):
    """A probe with its encoder, loaded when needed, and the cache; `packed` is a file of public sets."""

    name: str
    probe: Probe
    cache: Cache
    encoder: Callable[[], ImageEncoder]
    packed: Path | None = None
    place: str = "cpu"

    def key(self, part: str, rendering: Rendering) -> str:
        """Returns the cache key of one part of its observation of a set."""
        judged = self.probe.digest if part == "referee" else self.probe.encoder
        return digest_of(VERSION, part, rendering.digest, judged, self.place)

    def layout(self, part: str, n: int) -> Layout:
        """Returns the type and shape of the array of a part, for n images."""
        k, d = self.probe.weight.shape
        return {"logits": (np.float32, (n, k))} if part == "referee" else {"features": (np.float16, (n, d))}

    def has(self, part: str, rendering: Rendering) -> bool:
        """Returns True if the part of the set is packed or in the cache."""
        return packed_name(part, rendering) in self._opened[1] or super().has(part, rendering)

    def load(self, part: str, rendering: Rendering) -> Arrays | None:
        """Returns the part of its observation of a set, packed or from the cache; None if there is none."""
        layout, name = self.layout(part, len(rendering)), packed_name(part, rendering)
        file, names = self._opened
        if name not in names:
            return super().load(part, rendering)
        found = {only: file.get_tensor(name) for only in layout}
        if not fits(found, layout):
            raise UnusableInput(
                f"{self.packed} does not fit set {rendering.name!r}: unpack the competition again"
            )
        return found

    def compute(self, rendering: Rendering, parts: Iterable[str]) -> dict[str, Arrays]:
        """Returns the arrays of each part; the encoder runs only if the set's features are not known yet."""
        known = self.load("referee_features", rendering)
        features = known["features"] if known else self._features(rendering)
        found: dict[str, Arrays] = {"referee_features": {"features": features}}
        if "referee" in parts:
            found["referee"] = {"logits": self.probe.logits(features)}
        return found

    def _features(self, rendering: Rendering) -> FloatArray:
        try:
            encoder = self.encoder()
        except UnusableInput as error:
            text = f"referee {self.name} has not seen set {rendering.name!r}, and its encoder is not here: "
            raise UnusableInput(f"{text}{error}") from error
        if encoder.name != self.probe.encoder:
            raise UnusableInput(
                f"referee {self.name}: {self.probe.spec} is {encoder.name} here, and the competition was "
                f"built with {self.probe.encoder}: install the release with those weights"
            )
        return encoded(encoder, rendering.chunks())

    @cached_property
    def _opened(self) -> tuple[Any, frozenset[str]]:
        """The opened file of packed arrays, and their names."""
        if self.packed is None:
            return None, frozenset()
        try:
            file: Any = safetensors.safe_open(self.packed, framework="np")
            return file, frozenset(file.keys())
        except (OSError, SafetensorError) as error:
            raise UnusableInput(f"{self.packed} holds nothing that a referee saw: {error}") from error


def encoded(encoder: ImageEncoder, chunks: Iterable[torch.Tensor]) -> FloatArray:
    """Returns the features, float16 (n, d), of chunks of images, uint8 (m, 3, h, w), clipped to +-65504."""
    found = []
    for chunk in chunks:
        try:
            found.append(encoder.encode_images(chunk.permute(0, 2, 3, 1).contiguous().numpy()))
        except (RuntimeError, ValueError, AssertionError) as error:
            if isinstance(error, UnusableInput):
                raise
            height, width = chunk.shape[2:]
            raise UnusableInput(
                f"encoder {encoder.name} cannot encode images of {width} x {height} pixels: {why(error)}"
            ) from error
    return np.clip(np.concatenate(found), -HALF, HALF).astype(np.float16)


def packed_name(part: str, rendering: Rendering) -> str:
    """Returns the name, in the packed file, of a part of the observation of a set."""
    return f"{part}/{rendering.digest}"


def calibration_error(probabilities: FloatArray, labels: IntArray) -> float:
    """Returns the expected calibration error, in [0, 1], with bins of equal width (Guo et al., ICML 2017)."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(right[place == each].sum() - confidence[place == each].sum()) for each in np.unique(place)]
    return float(sum(gaps) / len(labels))
