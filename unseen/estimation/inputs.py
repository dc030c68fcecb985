"""The input of an estimate: logits, labels and features, each checked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from submission.arrays import BoolArray, FloatArray, IntArray
from submission.errors import UnusableInput, printable
from submission.files import composed
from unseen.estimation.stream import SMALLEST, cut
from unseen.estimation.tables import LABEL_COLUMNS, SHOWN, Given

FEWEST = 50
"""Smallest number of labelled images: with fewer, thresholds and calibration are too uncertain."""
LEAST = 1e-12
"""Smallest probability, to which smaller ones are raised: logits are logarithms of probabilities."""
LARGEST = np.finfo(np.float32).max
"""Value from which on, in size, a number is refused: observations hold float32."""
OFFSET = 8192.0
"""Largest absolute logit of which float32 still keeps three decimals."""
ROWS = 100_000
"""Number of rows that are checked at once, so that a large file takes little more memory than it has."""
LEAST_IMAGES = 10
"""Smallest number of images in a set."""
LEAST_SETS = 6
"""Smallest number of meta-train sets, if there are any."""
WIDEST = 256
"""Largest number of features: more are projected on this many random directions, which nearly keeps their
distances."""
TINY = 1e-12
"""Smallest scale of features by which they are divided."""
ROUNDED = 0.05
"""Largest share of a row's sum that rounding of probabilities explains."""
SPAN = 0.9
"""Smallest range of numbers between 0 and 1 that are no logits."""
Shape = tuple[int | None, ...]
"""Sizes; None is any size of two or more."""
Array = ArrayLike | Path | Iterable[Any]
"""Numbers (an array, a tensor of PyTorch, a table of pandas, lists), or a file that `tables.read` takes;
beside a model, batches."""
Sets = Array | Sequence[Array] | Mapping[str, Array]
"""One set, several in a list, or several by name."""
Model = Callable[[Any], Any]
"""A network of PyTorch, or a function: from a batch of images to their logits."""


@dataclass(frozen=True)
class Asked:
    """Settings of an estimate, the options of `unseen estimate`; all but the last four are for images."""

    train_sets: int = 24
    referees: tuple[str, ...] = ()
    image_size: int = 0
    resize: Literal["crop", "pad", "stretch"] = "crop"
    skip_unreadable: float = 0.01
    device: str = "cpu"
    engine: str = ""
    margin: float = 0.05
    level: float = 0.9
    window: int | None = None
    by: Sequence[Array] | Mapping[str, Array] = ()

    def __post_init__(self) -> None:
        for name, value, good in (
            ("level", self.level, 0 < self.level < 1),
            ("margin", self.margin, 0 <= self.margin <= 1),
        ):
            if not good:
                meant = f": did you mean {value / 100:g}?" if 1 < value < 100 else ""
                raise UnusableInput(f"--{name} must be a fraction between 0 and 1, got {value:g}{meant}")
        if self.window is not None and self.window < SMALLEST:
            raise UnusableInput(f"--window must be {SMALLEST} images or more, got {self.window}")
        if not 0 <= self.train_sets <= 1000 or 0 < self.train_sets < LEAST_SETS:
            raise UnusableInput(f"--train-sets must be 0, or {LEAST_SETS} to 1,000, got {self.train_sets}")


def read_logits(given: Given, probabilities: bool = False, shape: Shape = (None, None)) -> FloatArray:
    """Returns the given logits, float32 (n, k); probabilities are turned into their logarithms.

    One probability an image, (n,), is that of the second of two classes. A logit of -inf rules a class out.
    Large logits lose a row's largest, which no probability depends on, before they become float32.
    """
    values = _two_dimensional(_numbers(given), given.what, probabilities)
    _check_shape(values, given.what, shape)
    logits = np.empty(values.shape, dtype=np.float32)
    blocks = [slice(start, start + ROWS) for start in range(0, len(values), ROWS)]
    parts = (np.asarray(values[rows], dtype=np.float64) for rows in blocks)
    ranges = np.array([_ranges(part, given.what, i * ROWS) for i, part in enumerate(parts)])
    low, least_sum = ranges[:, :2].min(axis=0)
    high, most_sum = ranges[:, 2:].max(axis=0)
    if problem := _problem(low, high, (least_sum, most_sum), probabilities):
        raise UnusableInput(f"{given.what} holds {problem}")
    for rows in blocks:
        part = np.asarray(values[rows], dtype=np.float64)
        logits[rows] = np.log(np.maximum(part, LEAST)) if probabilities else _near_zero(part, max(-low, high))
    return logits


def _ranges(values: FloatArray, what: str, first: int) -> tuple[float, float, float, float]:
    """Returns the least number and row's sum of rows (n, k), then the largest; refuses what no logit is.

    `first` is the first row's number. A number of -inf, of a class ruled out, is none of these.
    """
    finite = values
    if not np.maximum(values.max(), -values.min()) <= LARGEST:
        ruled_out = np.isneginf(values)
        known = np.where(ruled_out, 0.0, values)
        unknown = ~(np.abs(known) <= LARGEST).all(axis=1) | ruled_out.all(axis=1)
        _refuse_unknown(what, unknown, first)
        finite = values[~ruled_out]
    sums = values.sum(axis=1)
    return finite.min(), sums.min(), finite.max(), sums.max()


def _refuse_unknown(what: str, unknown: BoolArray, first: int = 0) -> None:
    """Raise UnusableInput if some rows (n,) hold numbers that are none."""
    if unknown.any():
        raise UnusableInput(
            f"{what} holds NaN, infinite or too large values (above 3e38), first in row "
            f"{first + unknown.argmax()}: leave such images out"
        )


def _problem(low: float, high: float, sums: tuple[float, float], probabilities: bool) -> str:
    """Returns what numbers are instead of logits or, as asked, probabilities; "" if they are that."""
    within_one = low >= 0 and high <= 1
    fractions = low >= 0 and _all_are(1, sums)
    if 0 <= low < 1 and _all_are(100, sums):
        return "percentages: divide by 100, and say so with --probabilities"
    if probabilities and not fractions and within_one:
        return (
            "numbers from 0 to 1 whose rows have other sums than 1: the kit estimates the accuracy of "
            "classes of which each image has one, no several labels an image"
        )
    if probabilities and not fractions:
        return "no probabilities (rows from 0 up, of sum 1): leave --probabilities out for logits"
    if not probabilities and fractions:
        return "probabilities, not logits: say so with --probabilities"
    if not probabilities and within_one and high - low > SPAN:
        return (
            "numbers from 0 to 1 whose rows have other sums than 1, as after a sigmoid: give the logits; "
            "where they are cosines, multiply them by the model's scale"
        )
    return ""


def _all_are(total: float, sums: tuple[float, float]) -> bool:
    """Returns True if the least and the largest sum are this one, up to what rounding explains."""
    return sums[0] >= total * (1 - ROUNDED) and sums[1] <= total * (1 + ROUNDED)


def _near_zero(logits: FloatArray, largest: float) -> FloatArray:
    """Returns logits (n, k) that keep their digits in float32; classes ruled out have probability LEAST."""
    ruled_out = np.isneginf(logits)
    if largest <= OFFSET and not ruled_out.any():
        return logits
    top = logits.max(axis=1, keepdims=True)
    lowest = np.where(ruled_out, np.inf, logits).min(axis=1, keepdims=True)
    logits = np.where(ruled_out, np.minimum(top + np.log(LEAST), lowest), logits)
    return logits - top if largest > OFFSET else logits


def as_array(given: Given) -> NDArray[Any]:
    """Returns what was given as one array: numbers, or objects if they are texts."""
    values = given.values
    if hasattr(values, "detach"):  # PyTorch's: of any device and precision, with or without gradient
        return np.asarray(values.detach().cpu().double())
    try:
        array = np.asarray(values)
        texts = array.dtype == object and any(isinstance(each, str | bytes) for each in array.ravel())
        return array.astype(np.float64) if array.dtype == object and not texts else array
    except (TypeError, ValueError, RuntimeError) as error:
        parts = isinstance(values, Sequence) and all(hasattr(each, "shape") for each in values)
        fix = "join the batches by numpy.concatenate" if parts else "give one row of numbers for each image"
        raise UnusableInput(f"{given.what}: a {type(values).__name__} that makes no array: {fix}") from error


def _two_dimensional(values: NDArray[Any], what: str, probabilities: bool) -> NDArray[Any]:
    """Returns numbers (n, k), of one probability an image (n,) or (n, 1) those of both classes."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        return values
    if probabilities:
        return np.column_stack([1 - values.astype(np.float64), values])
    raise UnusableInput(
        f"{what} has one number an image, and the kit estimates the accuracy of classes: of the log-odds z "
        "of two classes make the columns 0 and z; of the second class's probabilities say --probabilities"
    )


def _numbers(given: Given) -> NDArray[Any]:
    """Returns what was given as an array of numbers; others are refused, with the first text or the type."""
    values = as_array(given)
    if values.dtype.kind not in "fiub":
        texts = [value for value in values.ravel()[:1000] if isinstance(value, str | bytes)]
        shown = ascii(str(texts[0]))[:50] if texts else str(values.dtype)
        raise UnusableInput(f"{given.what} holds {shown}, not numbers")
    return values


def _check_shape(values: NDArray[Any], what: str, shape: Shape) -> None:
    """Raise UnusableInput for numbers of another shape; None is any size of two or more."""
    fits = values.ndim == len(shape) and all(
        n >= 2 if size is None else n == size for n, size in zip(values.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("2 or more" if size is None else str(size) for size in shape)
        raise UnusableInput(f"{what} must have the shape ({wanted}), got {values.shape}")


def read_features(given: Given, shape: Shape) -> FloatArray:
    """Returns features of images, float32 (n, d), all finite."""
    values = _numbers(given)
    _check_shape(values, given.what, shape)
    _refuse_unknown(given.what, ~(np.abs(values) < LARGEST).all(axis=1))
    return values.astype(np.float32)


def read_labels(given: Given, n: int, k: int, classes: Sequence[str] = ()) -> IntArray:
    """Returns the class of each labelled image, int64 (n,), from the number or name of its logits' column.

    Of a table with several columns the labels are the one that is called so; in numbers (n, k) that are 0 but
    for one 1 a row, the 1 marks the class.
    """
    values = _label_column(given, k)
    texts = _as_class_texts(values, n, classes)
    if texts is not None:
        if unknown := sorted({*texts} - {*classes}):
            raise UnusableInput(_unknown_class(given.what, unknown, classes))
        places = {name: place for place, name in enumerate(classes)}
        values = np.array([places[text] for text in texts])
    _check_shape(values, f"{given.what}, a label for each row of logits,", (n,))
    numbers = values.astype(np.float64)
    if not (np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all()):
        raise UnusableInput(
            f"{given.what} must hold whole numbers, got {numbers[numbers != np.rint(numbers)][0]:g}: the kit "
            "estimates the accuracy of classes, no regression"
        )
    if numbers.min() < 0 or numbers.max() >= k:
        raise UnusableInput(
            f"{given.what} must hold whole numbers, the column of each image's class in the logits, 0 to "
            f"{k - 1}; they go from {numbers.min():g} to {numbers.max():g}"
        )
    labels = numbers.astype(np.int64)
    check_enough(labels)
    return labels


def _label_column(given: Given, k: int) -> NDArray[Any]:
    """Returns the labels (n,) in whatever was given."""
    values = given.values
    if isinstance(values, pd.DataFrame) and values.shape[1] > 1 and given.columns:
        called = [name for name in given.columns if name.casefold() in LABEL_COLUMNS]
        if len(called) == 1:
            values = values[called[0]]
    array = as_array(replace(given, values=values))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 and array.dtype.kind in "fiub":
        if array.shape[1] == k and np.isin(array, (0, 1)).all() and (array.sum(axis=1) == 1).all():
            return array.argmax(axis=1)
        raise UnusableInput(
            f"{given.what} {array.shape} give an image several classes, or shares of them: the kit estimates "
            "the accuracy of classes, of which each image has one"
        )
    return array.astype(np.int64) if array.dtype == bool else array


def _as_class_texts(values: NDArray[Any], n: int, classes: Sequence[str]) -> list[str] | None:
    """Returns labels as names of classes, without a heading; None if they are numbers of columns."""
    if values.dtype.kind in "OUS":
        names = [composed(each.decode() if isinstance(each, bytes) else str(each)) for each in values.ravel()]
        return names[1:] if len(names) == n + 1 else names
    if classes and values.dtype.kind in "fiu":
        called = [f"{value:.15g}" for value in values.ravel()]
        return called if {*called} <= {*classes} else None  # names that are numbers, in any order
    return None


def _unknown_class(what: str, unknown: Sequence[str], classes: Sequence[str]) -> str:
    """Returns the line about labels that name no class."""
    if not classes:
        return (
            f"{what} holds {unknown[0]!a}, which is no named class: give --classes, a file of the "
            "model's classes in order, one a line"
        )
    both = [", ".join(map(ascii, names[:SHOWN])) for names in (unknown, classes)]
    return f"{what} holds {both[0]}, which are not among the {len(classes)} classes: {both[1]}, ..."


def check_enough(labels: IntArray) -> None:
    """Raise UnusableInput for labels (n,) of too few images, or of one class alone."""
    if len(labels) < FEWEST or len(np.unique(labels)) < 2:
        raise UnusableInput(
            f"{len(labels)} labelled images of {len(np.unique(labels))} classes are too few: give {FEWEST} "
            "or more of several classes, better 1,000"
        )


def set_names(paths: Sequence[Path]) -> list[str]:
    """Returns the names of sets in files and folders, or their paths if two have the same name.

    >>> set_names([Path("today.npy"), Path("v1.2"), Path("photos.zip/dusk")])
    ['today', 'v1.2', 'dusk']
    """
    names = [
        printable(
            path.stem
            if path.suffix.lower() in (".npy", ".npz", ".csv", ".tsv", ".txt", ".zip")
            else path.name
        )
        for path in map(Path.absolute, paths)
    ]
    if len(set(names)) < len(names):
        names = [printable(path.as_posix()) for path in paths]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UnusableInput(f"the unlabelled set {twice[0]} is given twice")
    return names


def by_name(given: Sets, names: Sequence[str] = ()) -> dict[str, Array]:
    """Returns sets by name: a mapping's key, the given one, a file's name, or else ``set 1``, and so on."""
    if isinstance(given, Mapping):
        return {str(name): each for name, each in given.items()}
    alone = isinstance(given, np.ndarray | Path | str) or getattr(given, "ndim", 0) > 1
    several: list[Any] = [given] if alone or not isinstance(given, Iterable) else list(given)
    if len(names) != len(several):
        files = iter(set_names([Path(each) for each in several if isinstance(each, Path | str)]))
        names = [
            next(files) if isinstance(each, Path | str) else f"set {i}"
            for i, each in enumerate(several, start=1)
        ]
    return dict(zip(names, several, strict=True))


def read_batches(model: Model, labelled: Any, sets: Any) -> tuple[Any, Any, dict[str, Any], Any]:
    """Returns logits, labels, logits of the sets and features of all, from a model and batches of images."""
    from starter.models.classifiers.batches import run_batches

    logits, features, labels = run_batches(model, labelled, "the labelled images")
    if labels is None:
        raise UnusableInput(
            "no labels: each batch of labelled images must be (images, labels), or a dictionary with `labels`"
        )
    several = sets if isinstance(sets, Mapping) else {"set 1": sets}
    outputs = {name: run_batches(model, batches, str(name)) for name, batches in several.items()}
    features_of_sets = {name: each[1] for name, each in outputs.items()}
    known = features is not None and None not in features_of_sets.values()
    logits_of_sets = {name: each[0] for name, each in outputs.items()}
    return logits, labels, logits_of_sets, (features, features_of_sets) if known else None


def beside(given: tuple[Array, Sets], names: Sequence[str], what: str) -> list[Array]:
    """Returns the additional arrays of the labelled images, then of each set."""
    labelled, named = given[0], by_name(given[1], names)
    if named.keys() != {*names}:
        raise UnusableInput(
            f"{what} must be those of the labelled images, then of {', '.join(names)}, in this order or by "
            "name"
        )
    return [labelled, *(named[name] for name in names)]


def windows(sizes: Mapping[str, int], asked: Asked) -> list[dict[str, IntArray]]:
    """Returns the rows of each window of sets of so many images, by name."""
    given = asked.by
    keys = given if isinstance(given, Mapping) else dict(zip(sizes, given, strict=False))
    if len(given) and (len(given) != len(sizes) or keys.keys() != sizes.keys()):
        raise UnusableInput(f"--by must be given for each of {', '.join(sizes)}, in this order or by name")
    return [cut(name, images, asked.window, keys.get(name)) for name, images in sizes.items()]


def comparable(features: Sequence[FloatArray]) -> list[FloatArray]:
    """Returns features (n_i, d) divided by the root mean square of the first, float32 (n_i, min(d, 256))."""
    d = features[0].shape[1]
    scale = max(float(np.sqrt(np.square(features[0], dtype=np.float64).mean())), TINY)
    if d <= WIDEST:
        return [(values / scale).astype(np.float32) for values in features]
    turned = np.random.default_rng(0).normal(size=(d, WIDEST), scale=1 / (scale * np.sqrt(WIDEST)))
    return [(values @ turned).astype(np.float32) for values in features]
