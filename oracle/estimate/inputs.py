"""What is given for an estimate: logits and labels, checked so that each mistake gets one clear line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starter.images.arrays import read_npy
from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput

FEWEST = 50
"""Labelled images: of fewer no threshold and no calibration can be told."""
LEAST = 1e-12
"""A probability counts as at least this: its logarithm is a logit."""
SMALLEST = 20
"""Images in a window."""
WIDEST = 256
"""Of features with more numbers, as many random directions are taken; distances stay as they are, nearly."""
TINY = 1e-12
Array = NDArray[Any] | Path | str
"""Numbers, or an .npy file of them."""
Sets = Array | Sequence[Array] | Mapping[str, Array]
"""One set, several, or several by name."""


def read_logits(given: Array, what: str, probabilities: bool = False) -> FloatArray:
    """Returns the logits (n, k) that are given, float32; those of probabilities are their logarithms.

    Args:
        given: numbers or a file.
        what: what messages call them where they are no file.
        probabilities: whether each row holds probabilities.

    Raises:
        UnusableInput: they are no finite numbers (n, k), or probabilities where logits are expected, or not.
    """
    name, values = _named(given, what)
    if values.dtype.kind not in "fiu":
        raise UnusableInput(f"{name} holds {values.dtype}, not numbers: give a row of logits an image")
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 2:
        raise UnusableInput(f"{name} must be (images, classes), two or more of each, got {values.shape}")
    _check_finite(name, values)
    values = values.astype(np.float64)
    sums_to_one = bool((values >= 0).all() and np.allclose(values.sum(axis=1), 1, atol=1e-2))
    if sums_to_one and not probabilities:
        raise UnusableInput(f"{name} holds probabilities, not logits: say so with --probabilities")
    if probabilities and not sums_to_one:
        raise UnusableInput(
            f"{name} holds no probabilities (rows from 0 up, of sum 1): leave --probabilities out"
        )
    return (np.log(np.maximum(values, LEAST)) if probabilities else values).astype(np.float32)


def read_labels(given: Array, logits: FloatArray) -> IntArray:
    """Returns the class of each labelled image, int64 (n,), a column of its logits (n, k).

    Raises:
        UnusableInput: they do not fit the logits, are too few, or all of one class.
    """
    name, values = _named(given, "labels")
    n, k = logits.shape
    if values.dtype.kind not in "fiu":
        raise UnusableInput(
            f"{name} holds {values.dtype}, not numbers: give the column of each image's class in the logits, "
            f"0 to {k - 1}"
        )
    if values.shape != (n,):
        raise UnusableInput(f"{name} must be ({n},), a label an image of the logits, got {values.shape}")
    if not np.isfinite(values).all() or (values != np.rint(values)).any():
        raise UnusableInput(f"{name} must hold whole numbers, the columns of the classes, 0 to {k - 1}")
    labels = values.astype(np.int64)
    if labels.min() < 0 or labels.max() >= k:
        wrong = labels.min() if labels.min() < 0 else labels.max()
        raise UnusableInput(f"{name} holds {wrong}, but the logits have {k} columns: labels are 0 to {k - 1}")
    if n < FEWEST:
        raise UnusableInput(f"{n} labelled images are too few: give {FEWEST} or more, better 1,000")
    if len(np.unique(labels)) == 1:
        raise UnusableInput(f"{name} holds one class alone, {labels[0]}: label images of several")
    return labels


def read_sets(given: Sets, classes: int, probabilities: bool = False) -> dict[str, FloatArray]:
    """Returns the logits of each unlabelled set by name: a file's name, a key, or ``set 1`` and on.

    Raises:
        UnusableInput: as `read_logits`, or a set has another number of classes or another's name.
    """
    if isinstance(given, Mapping):
        named: list[tuple[str, Array]] = list(given.items())
    else:
        several = [given] if isinstance(given, np.ndarray | Path | str) else list(given)
        named = [
            (Path(each).stem if isinstance(each, Path | str) else f"set {i}", each)
            for i, each in enumerate(several, start=1)
        ]
    if not named:
        raise UnusableInput("no unlabelled set is given: name one or more")
    sets: dict[str, FloatArray] = {}
    for name, each in named:
        if not name:
            raise UnusableInput("an unlabelled set has an empty name: give it one")
        if name in sets:
            raise UnusableInput(f"two unlabelled sets are called {name}: rename one")
        sets[name] = read_logits(each, name, probabilities)
        if sets[name].shape[1] != classes:
            raise UnusableInput(
                f"{name} has {sets[name].shape[1]} classes, the labelled logits {classes}: give one model's"
            )
    return sets


def each_beside(given: tuple[Array, Sets], names: Sequence[str], what: str) -> dict[str, Array]:
    """Returns what stands beside the logits: of the labelled images, called "", and of each set by its name.

    Args:
        given: that of the labelled images, and those of the sets: by name, or in their order.
        names: the sets'.
        what: what messages call it.

    Raises:
        UnusableInput: some set has none, or there is one too many.
    """
    labelled, sets = given
    if isinstance(sets, Mapping):
        if sets.keys() != set(names):
            odd = sorted(map(str, sets.keys() ^ set(names)))[0]
            raise UnusableInput(f"{what} and logits are of other sets: {odd!r} has not both")
        return {"": labelled, **{name: sets[name] for name in names}}
    several = [sets] if isinstance(sets, np.ndarray | Path | str) else list(sets)
    if len(several) != len(names):
        raise UnusableInput(
            f"{what} are given for {len(several)} unlabelled sets in place of {len(names)}: give those of "
            "the labelled images, then of each set in turn"
        )
    return {"": labelled, **dict(zip(names, several, strict=True))}


def read_features(given: Array, of: str, images: int) -> FloatArray:
    """Returns the features (n, d) of the images of some logits, float32.

    Raises:
        UnusableInput: they are no finite numbers (n, d), or of another number of images.
    """
    name, values = _named(given, f"the features of {of}")
    if values.dtype.kind not in "fiu":
        raise UnusableInput(f"{name} holds {values.dtype}, not numbers: give a row of features an image")
    if values.ndim != 2 or len(values) != images or not values.shape[1]:
        raise UnusableInput(
            f"{name} must be ({images}, d), a row of features for each row of the logits of {of}, "
            f"got {values.shape}"
        )
    _check_finite(name, values)
    return values.astype(np.float32)


def comparable(features: Sequence[FloatArray]) -> list[FloatArray]:
    """Returns features (n_i, d) in the scale of the first, float32 (n_i, 256) at most."""
    d = features[0].shape[1]
    scale = max(float(np.sqrt(np.square(features[0], dtype=np.float64).mean())), TINY)
    if d <= WIDEST:
        return [(values / scale).astype(np.float32) for values in features]
    turned = np.random.default_rng(0).normal(size=(d, WIDEST), scale=1 / (scale * np.sqrt(WIDEST)))
    return [(values @ turned).astype(np.float32) for values in features]


def windows(images: int, size: int) -> list[IntArray]:
    """Returns the rows of each part of `size` images in their order.

    A rest below half of one joins the part before.

    >>> [len(rows) for rows in windows(250, 100)], [len(rows) for rows in windows(240, 100)]
    ([100, 100, 50], [100, 140])

    Raises:
        UnusableInput: `size` is below 20.
    """
    if size < SMALLEST:
        raise UnusableInput(f"--window must be {SMALLEST} images or more, got {size}")
    starts = list(range(0, images, size))
    if len(starts) > 1 and images - starts[-1] < size / 2:
        starts.pop()
    return [np.arange(start, end) for start, end in zip(starts, [*starts[1:], images], strict=True)]


def _check_finite(name: str, values: NDArray[Any]) -> None:
    if not np.isfinite(values).all():
        row = int((~np.isfinite(values)).any(axis=1).argmax())
        raise UnusableInput(f"{name} holds NaN or infinite values, first in row {row}: leave such images out")


def _named(given: Array, what: str) -> tuple[str, NDArray[Any]]:
    """Returns what messages call the numbers, and the numbers."""
    if isinstance(given, Path | str):
        return str(given), read_npy(Path(given))
    return what, np.asarray(given)
