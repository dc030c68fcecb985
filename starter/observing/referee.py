"""A referee: an encoder trained on other images, with calibrated linear probes for the classes.

Methods must be fitted to predictions that are out of sample, so there are several probes. The first is
trained on all images for probes: training images, undistorted and under the operations of the meta-train
sets. It predicts all sets except the meta-train sets. For an image of a meta-train set the probe is used that
was trained without the blocks of operations that contain those of the set; for an image of `train_ref`, if
probes were trained on it, the one trained without the half that holds the image. No probe is trained on the
images that meta-train, validation and test sets are made of, nor on the reference, which serves for
calibration. Probes and referee are in one module, since a referee is its probes with an encoder and a cache.
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
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save

from starter.classifiers.weightsfile import with_sorted_header
from starter.encoders.encoder import ImageEncoder
from starter.observing.cache import Arrays, Cache, Layout, fits
from starter.sets.rendering import FromRecipe, Rendering
from submission.errors import UnusableInput, why
from submission.files import digest_of, replacing

VERSION = 1
"""Part of every cache key of a referee: raise it when its values change."""
BLOCKS = 4
"""Number of blocks of operations; the operations of one block are left out together."""
NO_OPERATIONS = frozenset({"identity", "class_prior", "sub_population"})
"""Families of recipes that change no pixel."""
WHOLE = (-1, frozenset[int]())
"""The `Unseen` of the first probe, which was trained on everything: no half and no block."""
HALF = 65504
"""The largest number of float16."""

Unseen = tuple[int, frozenset[int]]
"""The half of `train_ref` (0, 1; -1 for none) and the blocks of operations left out of a probe's training."""


def operation_blocks(families: Iterable[frozenset[str]]) -> tuple[frozenset[str], ...]:
    """Returns all operations, dealt out in alphabetical order to `BLOCKS` blocks.

    There are fewer blocks if there are fewer operations.

    >>> [sorted(block) for block in operation_blocks([frozenset("abc"), frozenset("ade")])]
    [['a', 'e'], ['b'], ['c'], ['d']]
    """
    operations = sorted(frozenset[str]().union(*families) - NO_OPERATIONS)
    return tuple(frozenset(operations[start::BLOCKS]) for start in range(min(BLOCKS, len(operations))))


def touched(families: frozenset[str], blocks: Iterable[frozenset[str]]) -> frozenset[int]:
    """Returns the numbers of the blocks that contain some of the families."""
    return frozenset(number for number, block in enumerate(blocks) if block & families)


@dataclass(frozen=True, eq=False)
class Probes:
    """Linear maps from an encoder's features to calibrated logits, with the rule which map an image gets.

    Attributes:
        spec: Name of the encoder as the user gave it.
        encoder: Name of the encoder that identifies its weights.
        weight: Weights, float32 (p, k, d).
        bias: Biases, float32 (p, k).
        unseen: Data left out of the training of each of the p probes; of the first, none.
        blocks: Operations that are left out together.
        base: Digest of the images that meta-train sets are made of.
        train_ref: Digest of the unlabelled training images.
        figures: Measurements of the probes, JSON values by name.

    Raises:
        ValueError: Shapes do not fit, values are not finite, or the first probe leaves something out.
    """

    spec: str
    encoder: str
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    unseen: tuple[Unseen, ...]
    blocks: tuple[frozenset[str], ...]
    base: str
    train_ref: str
    figures: dict[str, Any]

    def __post_init__(self) -> None:
        p = len(self.unseen)
        shapes = self.weight.shape, self.bias.shape
        if self.weight.ndim != 3 or self.bias.shape != self.weight.shape[:2] or len(self.weight) != p:
            raise ValueError(
                f"weights of another shape: (p, k, d) and (p, k) with p = {p} are needed, got {shapes}"
            )
        if not p or self.unseen[0] != WHOLE:
            raise ValueError("the first probe has not seen all")
        if not (np.isfinite(self.weight).all() and np.isfinite(self.bias).all()):
            raise ValueError("weights that are not finite")

    def numbers(self, rendering: Rendering) -> NDArray[np.int64]:
        """Returns the number of the probe for each image of a set, int64 (n,)."""
        found = np.zeros(len(rendering), np.int64)
        if not isinstance(rendering, FromRecipe):
            return found
        recipe, base = rendering.recipe, rendering.base
        if base.digest == self.train_ref:
            halves = recipe.indices(base) % 2
            return np.array([self.number((int(half), frozenset())) for half in halves])
        if base.digest == self.base:
            found[:] = self.number((-1, touched(recipe.families, self.blocks)))
        return found

    def number(self, unseen: Unseen) -> int:
        """Returns the number of the probe trained without `unseen`.

        Without one, it is the probe trained without operations if `unseen` has blocks, else the first.
        """
        if unseen in self.unseen:
            return self.unseen.index(unseen)
        none = (-1, frozenset(range(len(self.blocks))))
        return self.unseen.index(none) if unseen[1] and none in self.unseen else 0

    def logits(self, features: NDArray[np.float16], numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Returns calibrated logits, float32 (n, k), of features (n, d), from the probes `numbers` (n,)."""
        found = np.empty((len(features), self.bias.shape[1]), np.float32)
        for number in np.unique(numbers):
            rows = numbers == number
            found[rows] = features[rows].astype(np.float32) @ self.weight[number].T + self.bias[number]
        return found

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the encoder's name and all values of the probes."""
        unseen = [(half, sorted(blocks)) for half, blocks in self.unseen]
        blocks = [sorted(block) for block in self.blocks]
        numbers = [hashlib.sha256(each.tobytes()).hexdigest() for each in (self.weight, self.bias)]
        return digest_of(self.encoder, numbers, unseen, blocks, self.base, self.train_ref)

    def save(self, path: Path) -> None:
        """Write the probes as safetensors, atomically; the same probes give the same bytes."""
        told = {
            "spec": self.spec,
            "encoder": self.encoder,
            "unseen": [[half, sorted(blocks)] for half, blocks in self.unseen],
            "blocks": [sorted(block) for block in self.blocks],
            "base": self.base,
            "train_ref": self.train_ref,
            "figures": self.figures,
        }
        data = save({"weight": self.weight, "bias": self.bias}, {"referee": json.dumps(told)})
        with replacing(path) as temporary:
            temporary.write_bytes(with_sorted_header(data))

    @classmethod
    def load(cls, path: Path, classes: int) -> "Probes":
        """Returns the probes that `save` wrote.

        Raises:
            UnusableInput: The file holds no probes, or probes for another number of classes than `classes`.
        """
        try:
            with safetensors.safe_open(path, framework="np") as file:
                weight, bias = file.get_tensor("weight"), file.get_tensor("bias")
                told = json.loads((file.metadata() or {})["referee"])
            found = cls(
                str(told["spec"]),
                str(told["encoder"]),
                weight,
                bias,
                tuple((int(half), frozenset(map(int, blocks))) for half, blocks in told["unseen"]),
                tuple(frozenset(map(str, block)) for block in told["blocks"]),
                str(told["base"]),
                str(told["train_ref"]),
                dict(told["figures"]),
            )
        except (
            OSError,
            KeyError,
            ValueError,
            TypeError,
            OverflowError,
            RecursionError,
            SafetensorError,
        ) as error:
            raise UnusableInput(f"{path} is no referee's probe: {why(error)}") from error
        if found.bias.shape[1] != classes:
            shape = f"{found.bias.shape[1]} classes, and the competition has {classes}"
            raise UnusableInput(f"{path}: weights of another shape, for {shape}")
        return found


@dataclass(frozen=True, eq=False)
class Referee:
    """Probes with their encoder and the cache for their observations.

    Attributes:
        name: Name of the referee in methods and files.
        probes: Probes of the referee.
        cache: Cache that keeps its observations.
        encoder: Function that loads the encoder, called when it is needed.
        packed: File with its observations of the public sets; None without one.
        device: Device that the encoder runs on.
    """

    name: str
    probes: Probes
    cache: Cache
    encoder: Callable[[], ImageEncoder]
    packed: Path | None = None
    device: str = "cpu"

    def parts(self, needs: Iterable[str], first: bool) -> tuple[str, ...]:
        """Returns the parts that `needs` require of this referee; only the first one keeps features."""
        wanted = ("referee", "referee_features") if first else ("referee",)
        return tuple(part for part in wanted if part in needs)

    def key(self, part: str, rendering: Rendering) -> str:
        """Returns the cache key of one part of its observation of a set."""
        judged = self.probes.digest if part == "referee" else self.probes.encoder
        return digest_of(VERSION, part, rendering.digest, judged, self.device)

    def layout(self, part: str, n: int) -> Layout:
        """Returns the type and shape of each array of a part, for n images."""
        _, k, d = self.probes.weight.shape
        if part == "referee":
            return {"logits": (np.float32, (n, k))}
        return {"features": (np.float16, (n, d))}

    def has(self, part: str, rendering: Rendering) -> bool:
        """Returns True if the part of the set is packed or in the cache."""
        packed = packed_name(part, rendering) in self._packed
        return packed or bool(self.cache.path(part, self.key(part, rendering)).exists())

    def load(self, part: str, rendering: Rendering) -> Arrays | None:
        """Returns the part of its observation of a set, packed or from the cache; None if there is none.

        Raises:
            UnusableInput: The packed arrays do not fit the set.
        """
        layout, name = self.layout(part, len(rendering)), packed_name(part, rendering)
        if self.packed is None or name not in self._packed:
            return self.cache.load(part, self.key(part, rendering), layout)
        (only,) = layout
        with _opened(self.packed) as file:
            found = {only: file.get_tensor(name)}
        if not fits(found, layout):
            raise UnusableInput(
                f"{self.packed}: what it holds of set {rendering.name!r} does not fit its {len(rendering)} "
                "images: unpack the competition again, or build it again"
            )
        return found

    def compute(self, rendering: Rendering, parts: Iterable[str]) -> dict[str, Arrays]:
        """Returns the arrays of each part; the encoder runs only if the set's features are not known yet.

        Raises:
            UnusableInput: The encoder cannot be loaded, is not the probes' one, or cannot encode the images.
        """
        known = self.load("referee_features", rendering)
        features = known["features"] if known else self._features(rendering)
        found: dict[str, Arrays] = {"referee_features": {"features": features}}
        if "referee" in parts:
            found["referee"] = {"logits": self.probes.logits(features, self.probes.numbers(rendering))}
        return found

    def _features(self, rendering: Rendering) -> NDArray[np.float16]:
        try:
            encoder = self.encoder()
        except UnusableInput as error:
            raise UnusableInput(
                f"referee {self.name} has not seen set {rendering.name!r}, and its encoder is not here: "
                f"{error}"
            ) from error
        if encoder.name != self.probes.encoder:
            raise UnusableInput(
                f"referee {self.name}: {self.probes.spec} is {encoder.name} here, and the competition was "
                f"built with {self.probes.encoder}: install the release with those weights"
            )
        return np.concatenate([half_features(encoder, chunk) for chunk in rendering.chunks()])

    @cached_property
    def _packed(self) -> frozenset[str]:
        """The names of the packed arrays."""
        if self.packed is None:
            return frozenset()
        with _opened(self.packed) as file:
            return frozenset(file.keys())


def half_features(encoder: ImageEncoder, images: torch.Tensor) -> NDArray[np.float16]:
    """Returns the features of uint8 images (n, 3, h, w), float16 (n, d), clipped to +-65504.

    Raises:
        UnusableInput: The encoder cannot encode the images.
    """
    pixels = np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())
    try:
        features = encoder.encode_images(pixels)
    except (RuntimeError, ValueError, AssertionError) as error:
        if isinstance(error, UnusableInput):
            raise
        height, width = pixels.shape[1:3]
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UnusableInput(
            f"encoder {encoder.name} cannot encode images of {width} x {height} pixels: {reason}"
        ) from error
    return np.clip(features, -HALF, HALF).astype(np.float16)


def packed_name(part: str, rendering: Rendering) -> str:
    """Returns the name, in the packed file, of a part of the observation of a set."""
    return f"{part}/{rendering.digest}"


def write_packed(path: Path, seen: Arrays) -> None:
    """Write the observations `seen` of public sets, by packed name, as safetensors, atomically."""
    contiguous = {name: np.ascontiguousarray(seen[name]) for name in sorted(seen)}
    with replacing(path) as temporary:
        temporary.write_bytes(save(contiguous))


def _opened(path: Path) -> Any:
    """Returns the opened file that `write_packed` wrote.

    Raises:
        UnusableInput: The file cannot be opened as safetensors.
    """
    try:
        return safetensors.safe_open(path, framework="np")
    except (OSError, SafetensorError) as error:
        raise UnusableInput(f"{path} holds nothing that a referee saw: {error}") from error
