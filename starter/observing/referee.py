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
from safetensors import SafetensorError
from safetensors.numpy import save
from scipy.optimize import minimize
from scipy.special import log_softmax

from starter.classifiers.weights import with_sorted_header
from starter.encoders import ImageEncoder
from starter.observing.cache import Arrays, Cache, Layout, fits
from starter.observing.observe import HALF, Linear, Witness
from starter.observing.temperature import likeliest_temperature
from starter.sets.rendering import FromRecipe, Rendering
from submission.arrays import FloatArray, IntArray, Pixels
from submission.errors import UnusableInput, why
from submission.files import digest_of, write_bytes

VERSION = 1
"""Part of every cache key of a referee: raise it when its values change."""
BLOCKS = 4
"""Number of blocks of operations; the operations of one block are left out together."""
NO_OPERATIONS = frozenset({"identity", "class_prior", "sub_population"})
"""Families of recipes that change no pixel."""
WHOLE = (-1, frozenset[int]())
"""The `Unseen` of the first probe, which was trained on everything: no half and no block."""
STRENGTH = 0.007
"""Inverse weight C of the squared norm, like scikit-learn's: the likelihood is summed over images."""
STEPS = 300
TOLERANCE = 1e-5
"""Mean gradient of the likelihood below which fitting stops."""
BINS = 15
"""Number of bins of the calibration error."""

Unseen = tuple[int, frozenset[int]]
"""The half of `train_ref` (0, 1; -1 for none) and the blocks of operations left out of a probe's training."""


def operation_blocks(families: Iterable[frozenset[str]]) -> tuple[frozenset[str], ...]:
    """Returns all operations, dealt out in alphabetical order to `BLOCKS` blocks at most.

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
    """

    spec: str
    encoder: str
    weight: FloatArray
    bias: FloatArray
    unseen: tuple[Unseen, ...]
    blocks: tuple[frozenset[str], ...]
    base: str
    train_ref: str
    figures: dict[str, Any]

    def __post_init__(self) -> None:
        p, k, d = len(self.unseen), self.bias.shape[-1], self.weight.shape[-1]
        layout: Layout = {"weight": (np.float32, (p, k, d)), "bias": (np.float32, (p, k))}
        if not fits({"weight": self.weight, "bias": self.bias}, layout) or self.unseen[:1] != (WHOLE,):
            raise ValueError(
                "weights of another shape, or not finite, or without the probe that has seen all"
            )

    def numbers(self, rendering: Rendering) -> IntArray:
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

    def logits(self, features: FloatArray, numbers: IntArray) -> FloatArray:
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
        names = ("spec", "encoder", "unseen", "blocks", "base", "train_ref", "figures")
        values = json.dumps({name: getattr(self, name) for name in names}, default=sorted)  # sets are sorted
        data = save({"weight": self.weight, "bias": self.bias}, {"referee": values})
        write_bytes(path, with_sorted_header(data))

    @classmethod
    def load(cls, path: Path, classes: int) -> "Probes":
        """Returns the probes that `save` wrote, of as many classes."""
        try:
            with safetensors.safe_open(path, framework="np") as file:
                weight, bias = file.get_tensor("weight"), file.get_tensor("bias")
                values = json.loads((file.metadata() or {})["referee"])
            values["unseen"] = tuple((half, frozenset(blocks)) for half, blocks in values["unseen"])
            values["blocks"] = tuple(map(frozenset, values["blocks"]))
            found = cls(weight=weight, bias=bias, **values)
            if found.bias.shape[1] != classes:
                raise ValueError(f"{found.bias.shape[1]} classes, and the competition has {classes}")
        except (OSError, LookupError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
            raise UnusableInput(f"{path} is no referee's probe: {why(error)}") from error
        return found


@dataclass(frozen=True, eq=False)
class Referee(Witness):
    """Probes with their encoder and the cache for their observations.

    `encoder` loads the encoder when it is needed; `packed` is a file with observations of the public sets;
    `place` is what computes, see `starter.classifiers.engine.place`.
    """

    name: str
    probes: Probes
    cache: Cache
    encoder: Callable[[], ImageEncoder]
    packed: Path | None = None
    place: str = "cpu"

    def key(self, part: str, rendering: Rendering) -> str:
        """Returns the cache key of one part of its observation of a set."""
        judged = self.probes.digest if part == "referee" else self.probes.encoder
        return digest_of(VERSION, part, rendering.digest, judged, self.place)

    def layout(self, part: str, n: int) -> Layout:
        """Returns the type and shape of the array of a part, for n images."""
        _, k, d = self.probes.weight.shape
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
            found["referee"] = {"logits": self.probes.logits(features, self.probes.numbers(rendering))}
        return found

    def _features(self, rendering: Rendering) -> FloatArray:
        try:
            encoder = self.encoder()
        except UnusableInput as error:
            text = f"referee {self.name} has not seen set {rendering.name!r}, and its encoder is not here: "
            raise UnusableInput(f"{text}{error}") from error
        if encoder.name != self.probes.encoder:
            raise UnusableInput(
                f"referee {self.name}: {self.probes.spec} is {encoder.name} here, and the competition was "
                f"built with {self.probes.encoder}: install the release with those weights"
            )
        chunks = (chunk.permute(0, 2, 3, 1).numpy() for chunk in rendering.chunks())
        return np.concatenate([half_features(encoder, chunk) for chunk in chunks])

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


def half_features(encoder: ImageEncoder, pixels: Pixels) -> FloatArray:
    """Returns the features of images (n, h, w, 3), float16 (n, d), clipped to +-65504."""
    try:
        features = encoder.encode_images(np.ascontiguousarray(pixels))
    except (RuntimeError, ValueError, AssertionError) as error:
        if isinstance(error, UnusableInput):
            raise
        height, width = pixels.shape[1:3]
        raise UnusableInput(
            f"encoder {encoder.name} cannot encode images of {width} x {height} pixels: {why(error)}"
        ) from error
    return np.clip(features, -HALF, HALF).astype(np.float16)


def packed_name(part: str, rendering: Rendering) -> str:
    """Returns the name, in the packed file, of a part of the observation of a set."""
    return f"{part}/{rendering.digest}"


def write_packed(path: Path, seen: Arrays) -> None:
    """Write the observations `seen` of public sets, by packed name, as safetensors, atomically."""
    contiguous = {name: np.ascontiguousarray(seen[name]) for name in sorted(seen)}
    write_bytes(path, save(contiguous))


def fit_linear(features: FloatArray, labels: IntArray, classes: int, start: Linear | None = None) -> Linear:
    """Returns a multinomial logistic regression, fitted by L-BFGS on standardised features.

    It minimises |W|^2 / 2 + `STRENGTH` * (sum over images of the negative log-likelihood), no penalty on the
    bias, like scikit-learn's LogisticRegression, on features (n, d) and labels (n,) below `classes`. The
    standardisation is folded into the returned weights. `start` saves steps and does not change the optimum.
    """
    n, d = features.shape
    mean = features.mean(axis=0, dtype=np.float64)
    scale = features.std(axis=0, dtype=np.float64)
    scale[scale == 0] = 1
    rows = ((features - mean.astype(np.float32)) / scale.astype(np.float32)).astype(np.float32)
    hits = np.zeros((n, classes), np.float32)
    hits[np.arange(n), labels] = 1

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        """Returns the mean loss and its gradient."""
        weight, bias = flat[:-classes].reshape(classes, d), flat[-classes:]
        logs = log_softmax((rows @ weight.T.astype(np.float32)).astype(np.float64) + bias, axis=1)
        error = np.exp(logs).astype(np.float32) - hits
        loss = -logs[np.arange(n), labels].mean() + (weight**2).sum() / (2 * STRENGTH * n)
        slope = (error.T @ rows).astype(np.float64) / n + weight / (STRENGTH * n)
        return float(loss), np.concatenate([slope.ravel(), error.sum(axis=0, dtype=np.float64) / n])

    first = np.zeros(classes * (d + 1))
    if start is not None:
        first = np.concatenate([(start[0] * scale).ravel(), start[1] + start[0] @ mean])
    limits = {"maxiter": STEPS, "gtol": TOLERANCE, "ftol": 1e-9}
    found = minimize(objective, first, jac=True, method="L-BFGS-B", options=limits).x
    weight = found[:-classes].reshape(classes, d) / scale
    return weight, found[-classes:] - weight @ mean


def calibrated(linear: Linear, features: FloatArray, labels: IntArray) -> Linear:
    """Returns the probe with its logits divided by the temperature fitted on these labelled features."""
    weight, bias = linear
    temperature = likeliest_temperature(features @ weight.T + bias, labels)
    return weight / temperature, bias / temperature


def calibration_error(probabilities: FloatArray, labels: IntArray) -> float:
    """Returns the expected calibration error, in [0, 1], with bins of equal width (Guo et al., ICML 2017)."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(right[place == each].sum() - confidence[place == each].sum()) for each in np.unique(place)]
    return float(sum(gaps) / len(labels))
