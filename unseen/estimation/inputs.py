"""The input of an estimate: logits, labels and features, each checked."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput, printable, unusable, why
from unseen.estimation.arrays import Array, check_finite, read_array

FEWEST = 50
"""Smallest number of labelled images: with fewer, thresholds and calibration are too uncertain."""
LEAST = 1e-12
"""Smallest probability, to which smaller ones are raised: logits are logarithms of probabilities."""
SMALLEST = 20
"""Smallest number of images in a window."""
WIDEST = 256
"""Largest number of features: more are projected on this many random directions, which nearly keeps their
distances."""
TINY = 1e-12
ROUNDED = 0.05
"""Largest difference of a row's sum from 1 that rounding of probabilities explains."""
Sets = Array | Sequence[Array] | Mapping[str, Array]
"""One set, several in a list, or several by name."""


def check_rules(margin: float, level: float, window: int | None) -> None:
    """Raise UnusableInput if the margin, the intervals' level or the size of windows is out of range."""
    if not 0 < level < 1:
        raise UnusableInput(f"--level must lie between 0 and 1, got {level:g}")
    if not 0 <= margin <= 1:
        raise UnusableInput(f"--margin must be a fraction in [0, 1], got {margin:g}")
    if window is not None and not (isinstance(window, Integral) and window >= SMALLEST):
        raise UnusableInput(f"--window must be a whole number, {SMALLEST} images or more, got {window}")


def read_classes(path: Path) -> tuple[str, ...]:
    """Returns the names of classes in a text file, one a line; empty lines are skipped."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise unusable(path, f"cannot be read ({why(error)})") from error
    names = tuple(line.strip() for line in lines if line.strip())
    if len(names) < 2:
        raise unusable(path, "two or more classes are expected, one a line")
    if twice := [name for name in names if names.count(name) > 1]:
        raise unusable(path, f"names the class {twice[0]!r} twice")
    return names


def read_logits(given: Array, what: str, probabilities: bool = False) -> FloatArray:
    """Returns the given logits, float32 (n, k); probabilities are turned into their logarithms.

    Args:
        given: Numbers, or an .npy file.
        what: Name for the numbers in messages; a file is named by its path.
        probabilities: True if each row holds probabilities.
    """
    name, values = read_array(given, what)
    if values.dtype.kind not in "fiu":
        raise UnusableInput(f"{name} holds {values.dtype}, not numbers: give a row of logits an image")
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 2:
        single = (
            "; of one output z for two classes make the columns 0 and z" if values.shape[1:] == (1,) else ""
        )
        raise UnusableInput(
            f"{name} must be (images, classes), two or more of each, got {values.shape}{single}"
        )
    check_finite(name, values)
    values = values.astype(np.float64)
    _check_kind(name, values, probabilities)
    return (np.log(np.maximum(values, LEAST)) if probabilities else values).astype(np.float32)


def read_labels(given: Array, logits: FloatArray) -> IntArray:
    """Returns the class of each labelled image, int64 (n,), a column of its logits (n, k)."""
    name, values = read_array(given, "labels")
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
    if values.min() < 0 or values.max() >= k:
        wrong = values.min() if values.min() < 0 else values.max()
        raise UnusableInput(
            f"{name} holds {wrong:g}, but the logits have {k} columns: labels are 0 to {k - 1}"
        )
    labels = values.astype(np.int64)
    if n < FEWEST:
        raise UnusableInput(f"{n} labelled images are too few: give {FEWEST} or more, better 1,000")
    if len(np.unique(labels)) == 1:
        raise UnusableInput(f"{name} holds one class alone, {labels[0]}: label images of several")
    return labels


def set_names(paths: Sequence[Path]) -> list[str]:
    """Returns the names of sets in files and folders, or their paths if two have the same name.

    Characters that cannot be printed are escaped.

    Raises:
        UnusableInput: A path is given twice.

    >>> set_names([Path("today.npy"), Path("v1.2"), Path("photos.zip/dusk")])
    ['today', 'v1.2', 'dusk']
    >>> set_names([Path("monday/photos"), Path("tuesday/photos")])
    ['monday/photos', 'tuesday/photos']
    """
    whole = [path.absolute() for path in paths]
    names = [printable(path.stem if path.suffix.lower() in (".npy", ".zip") else path.name) for path in whole]
    if len(set(names)) < len(names):
        names = [printable(path.as_posix()) for path in paths]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UnusableInput(f"the unlabelled set {twice[0]} is given twice")
    return names


def read_sets(given: Sets, classes: int, probabilities: bool = False) -> dict[str, FloatArray]:
    """Returns the logits, float32 (m, k), of each unlabelled set, by name.

    The name is the key in a mapping, the name of a file (see `set_names`), or else ``set 1``, ``set 2``, and
    so on.
    """
    if isinstance(given, Mapping):
        named: list[tuple[str, Array]] = [(str(name), each) for name, each in given.items()]
    else:
        several = _several(given)
        called = iter(set_names([Path(each) for each in several if isinstance(each, Path | str)]))
        named = [
            (next(called) if isinstance(each, Path | str) else f"set {i}", each)
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
    """Returns the additional arrays of the labelled images, under "", and of each set, under its name.

    Args:
        given: Array of the labelled images, and those of the sets, by name or in their order.
        names: Names of the sets.
        what: Name for the arrays in messages.
    """
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise UnusableInput(f"{what} must be a pair: those of the labelled images, and those of the sets")
    labelled, sets = given
    if isinstance(sets, Mapping):
        named = {str(name): each for name, each in sets.items()}
        if odd := sorted(named.keys() ^ set(names)):
            raise UnusableInput(f"{what} and logits are of other sets: {odd[0]!r} has not both")
        return {"": labelled, **named}
    several = _several(sets)
    if len(several) != len(names):
        raise UnusableInput(
            f"{what} are given for {len(several)} unlabelled sets in place of {len(names)}: give those of "
            "the labelled images, then of each set in turn"
        )
    return {"": labelled, **dict(zip(names, several, strict=True))}


def read_features(given: Array, of: str, images: int) -> FloatArray:
    """Returns the given features, float32 (n, d), of the n = `images` images of `of`."""
    name, values = read_array(given, f"the features of {of}")
    if values.dtype.kind not in "fiu":
        raise UnusableInput(f"{name} holds {values.dtype}, not numbers: give a row of features an image")
    if values.ndim != 2 or len(values) != images or not values.shape[1]:
        raise UnusableInput(
            f"{name} must be ({images}, d), a row of features for each row of the logits of {of}, "
            f"got {values.shape}"
        )
    check_finite(name, values)
    return values.astype(np.float32)


def comparable(features: Sequence[FloatArray]) -> list[FloatArray]:
    """Returns features (n_i, d) divided by the root mean square of the first, float32 (n_i, min(d, 256))."""
    d = features[0].shape[1]
    scale = max(float(np.sqrt(np.square(features[0], dtype=np.float64).mean())), TINY)
    if d <= WIDEST:
        return [(values / scale).astype(np.float32) for values in features]
    turned = np.random.default_rng(0).normal(size=(d, WIDEST), scale=1 / (scale * np.sqrt(WIDEST)))
    return [(values @ turned).astype(np.float32) for values in features]


def windows(images: int, size: int) -> list[IntArray]:
    """Returns the rows of each part of `size` images in their order.

    A rest of fewer than size / 2 images is added to the last part.

    >>> [len(rows) for rows in windows(250, 100)], [len(rows) for rows in windows(240, 100)]
    ([100, 100, 50], [100, 140])
    """
    starts = list(range(0, images, size))
    if len(starts) > 1 and images - starts[-1] < size / 2:
        starts.pop()
    return [np.arange(start, end) for start, end in zip(starts, [*starts[1:], images], strict=True)]


def _several(given: Any) -> list[Any]:
    """Returns the sets that are given in a list, or the only one, in a list."""
    if isinstance(given, np.ndarray | Path | str) or getattr(given, "ndim", 0) > 1:
        return [given]
    if not isinstance(given, Iterable):
        raise UnusableInput(
            f"the unlabelled sets are an array, a file, or several in a list or by name, not {given!r}"
        )
    return list(given)


def _check_kind(name: str, values: FloatArray, probabilities: bool) -> None:
    """Raise UnusableInput if values (n, k) are probabilities in place of logits, or the other way round."""
    low, high, sums = values.min(), values.max(), values.sum(axis=1)
    if low >= 0 and np.allclose(sums, 100, rtol=ROUNDED) and low < 1:
        raise UnusableInput(f"{name} holds percentages: divide by 100, and say so with --probabilities")
    sums_to_one = bool(low >= 0 and np.allclose(sums, 1, rtol=ROUNDED))
    if sums_to_one and not probabilities:
        raise UnusableInput(f"{name} holds probabilities, not logits: say so with --probabilities")
    if probabilities and not sums_to_one:
        raise UnusableInput(
            f"{name} holds no probabilities (rows from 0 up, of sum 1): divide each row by its sum, or leave "
            "--probabilities out if these are logits"
        )
    if not probabilities and low >= 0 and high <= 1 and high - low > 0.9:
        raise UnusableInput(
            f"{name} holds numbers from 0 to 1 whose rows have other sums than 1, as after a sigmoid: give "
            "the logits; where they are cosines, multiply them by the model's scale"
        )
