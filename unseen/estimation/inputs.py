"""The input of an estimate: logits, labels and features, each checked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from starter.data.images.arrays import read_arrays, read_npy
from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput, printable, unusable, why
from unseen.estimation.truth import class_labels

FEWEST = 50
"""Smallest number of labelled images: with fewer, thresholds and calibration are too uncertain."""
LEAST = 1e-12
"""Smallest probability, to which smaller ones are raised: logits are logarithms of probabilities."""
LARGEST = np.finfo(np.float32).max
SMALLEST, LEAST_IMAGES, LEAST_SETS = 20, 10, 6
"""Smallest numbers of images in a window and in a set, and of meta-train sets, if there are any."""
WIDEST = 256
"""Largest number of features: more are projected on this many random directions, which nearly keeps their
distances."""
TINY = 1e-12
ROUNDED = 0.05
"""Largest difference of a row's sum from 1 that rounding of probabilities explains."""
Array = ArrayLike | Path | Iterable[Any]
"""Numbers (an array, a tensor of PyTorch, a table of pandas, lists), or a file that `read_file` takes; beside
a model, batches."""
Sets = Array | Sequence[Array] | Mapping[str, Array]
"""One set, several in a list, or several by name."""
Model = Callable[[Any], Any]
"""A network of PyTorch, or a function: from a batch of images to their logits."""


@dataclass(frozen=True)
class Asked:
    """Settings of an estimate, the options of `unseen estimate`; all but the last three are for images.

    Attributes:
        train_sets: With a model: number of sets to learn from, 0 or 6 to 1000.
        referees (SPEC): With a model: as build's --referee.
        image_size (PIXELS): Side to which images are resized; 0: the commonest.
        resize: How to resize images.
        skip_unreadable (SHARE): Share of unreadable images to allow.
        device: The device that runs classifiers: cpu, cuda, cuda:1, mps.
        engine: What runs a model: openvino, or torch. [openvino on CPUs]
        margin: Report a fall larger than this fraction.
        level: Share of intervals that should hold the truth.
        window (IMAGES): Estimate every so many rows by themselves.
    """

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

    def __post_init__(self) -> None:
        good = self.window is None or self.window >= SMALLEST
        if not (0 < self.level < 1 and 0 <= self.margin <= 1 and good):
            raise UnusableInput(
                "--level must lie between 0 and 1, --margin must be a fraction in [0, 1], and --window a "
                f"whole number of {SMALLEST} images or more, got {self.level:g}, {self.margin:g} and "
                f"{self.window}"
            )
        if not 0 <= self.train_sets <= 1000 or 0 < self.train_sets < LEAST_SETS:
            raise UnusableInput(f"--train-sets must be 0, or {LEAST_SETS} to 1,000, got {self.train_sets}")


def read_classes(path: Path) -> tuple[str, ...]:
    """Returns the names of classes in a text file, one a line; empty lines are skipped."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    names = tuple(line.strip() for line in lines if line.strip())
    if twice := [name for name in names if names.count(name) > 1]:
        raise unusable(path, f"names the class {twice[0]!r} twice")
    return names


def read_file(path: Path) -> Any:
    """Returns the array of an .npy file, of an .npz file with one, or the table in a .csv.

    A first line of a table that has texts above numbers is its heading, the names of its columns; one that
    counts them from 0 or 1, or stands above an index, as pandas writes, is a heading too.
    """
    if path.suffix == ".npz":
        return read_arrays(path, ("arr_0",))["arr_0"]
    if path.suffix != ".csv":
        return read_npy(path)
    try:
        table = pd.read_csv(path, header=None)
    except (OSError, ValueError) as error:
        raise unusable(path, f"no table that can be read ({why(error)})") from error
    if indexed := bool(table[0].isna()[0]):  # an index, which has no heading
        table = table.drop(columns=0)
    numbers = table.apply(pd.to_numeric, errors="coerce")
    if numbers[1:].notna().all(axis=None):
        first, k = [*numbers.iloc[0]], table.shape[1]
        named, counted = numbers.iloc[0].isna().any(), k > 1 and first in ([*range(k)], [*range(1, k + 1)])
        columns = table.iloc[0].astype(str) if named else table.columns
        table = numbers[int(named or counted or indexed) :].set_axis(columns, axis=1)
    return table if table.shape[1] > 1 else table.iloc[:, 0]


def opened(given: Any, what: str, columns: Sequence[str] = ()) -> tuple[Any, str, Sequence[str]]:
    """Returns what a file holds or is given, its name in messages, and the names of a table's columns.

    If the columns have names, they are put in the order of `columns`, which must be the same names.
    """
    found, what = (read_file(Path(given)), str(given)) if isinstance(given, Path | str) else (given, what)
    names = tuple(getattr(found, "columns", ()))
    own = names if all(isinstance(name, str) for name in names) else ()
    if not (own and columns) or own == columns:
        return found, what, own
    if sorted(own) != sorted(columns):
        both = [shorten(", ".join(names), 80) for names in (own, columns)]
        raise UnusableInput(f"{what} has the columns {both[0]}; of the labelled images they are {both[1]}")
    return found[[*columns]], what, columns


def read_numbers(given: Array, what: str, *shape: int | None) -> tuple[str, NDArray[Any]]:
    """Returns the name in messages, and finite numbers of this shape; None is any size of two or more."""
    given, what, _ = opened(given, what)
    if hasattr(given, "detach"):  # PyTorch's: of any device and precision, with or without gradient
        given = given.detach().cpu().double()
    try:
        values = np.asarray(given)
        values = values.astype(np.float64) if values.dtype == object else values  # of missing numbers
    except (TypeError, ValueError, RuntimeError) as error:
        raise UnusableInput(
            f"{what}: no numbers that make one array ({why(error)}): join batches by numpy.concatenate or "
            "torch.cat"
        ) from error
    problem = ""
    if values.dtype.kind not in "fiu":
        problem = f"holds {values.dtype}, not numbers"
    elif values.ndim != len(shape) or any(
        n < 2 if size is None else n != size for n, size in zip(values.shape, shape, strict=True)
    ):
        wanted = ", ".join("2 or more" if size is None else str(size) for size in shape)
        single = "; of one output z for two classes make the columns 0 and z"
        problem = f"must have the shape ({wanted}), got {values.shape}{single * (values.shape[1:] == (1,))}"
    elif not (fit := (np.abs(values) < LARGEST).reshape(len(values), -1).all(axis=1)).all():
        problem = f"holds NaN, infinite or too large values (above 3e38), first in row {fit.argmin()}"
        problem += ": leave such images out"
    if problem:
        raise UnusableInput(f"{what} {problem}")
    return what, values


def read_logits(
    given: Array,
    what: str,
    probabilities: bool = False,
    shape: tuple[int | None, int | None] = (None, None),
) -> FloatArray:
    """Returns the given logits, float32 (n, k); probabilities are turned into their logarithms."""
    name, values = read_numbers(given, what, *shape)
    values = values.astype(np.float64)
    low, high, sums = values.min(), values.max(), values.sum(axis=1)
    fractions = low >= 0 and np.allclose(sums, 1, rtol=ROUNDED)
    problem = ""
    if probabilities and not fractions:
        problem = "no probabilities (rows from 0 up, of sum 1): leave --probabilities out for logits"
    elif not probabilities and fractions:
        problem = "probabilities, not logits: say so with --probabilities"
    elif not probabilities and low >= 0 and high <= 1 and high - low > 0.9:
        problem = (
            "numbers from 0 to 1 whose rows have other sums than 1, as after a sigmoid: give the logits; "
            "where they are cosines, multiply them by the model's scale"
        )
    if problem:
        raise UnusableInput(f"{name} holds {problem}")
    return (np.log(np.maximum(values, LEAST)) if probabilities else values).astype(np.float32)


def read_labels(given: Array, logits: FloatArray, classes: Sequence[str] = ()) -> IntArray:
    """Returns the class of each labelled image, int64 (n,), a column of its logits (n, k), or its name."""
    n, k = logits.shape
    found, name, _ = opened(given, "labels")
    texts = np.asarray(found)
    if classes and texts.dtype.kind in "fiu":
        called = np.array([f"{value:.15g}" for value in texts.ravel()])
        texts = called if {*called} <= {*classes} else texts  # names that are numbers, in any order
    if texts.dtype.kind in "OU":
        names = [*map(str, texts)][len(texts) - n == 1 :]  # below a heading
        if unknown := {*names} - {*classes}:
            fix = "give --classes, a file of the model's classes in order, one a line"
            raise UnusableInput(f"{name} holds {min(unknown)!r}, which is no named class: {fix}")
        texts = np.array([*map(classes.index, names)])
    _, values = read_numbers(texts, f"{name}, a label for each row of logits,", n)
    if (values != np.rint(values)).any() or values.min() < 0 or values.max() >= k:
        raise UnusableInput(
            f"{name} must hold whole numbers, the column of each image's class in the logits, 0 to {k - 1}; "
            f"they go from {values.min():g} to {values.max():g}"
        )
    labels = values.astype(np.int64)
    check_enough(labels)
    return labels


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
        printable(path.stem if path.suffix.lower() in (".npy", ".npz", ".csv", ".zip") else path.name)
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
    runs = {name: run_batches(model, batches, str(name)) for name, batches in several.items()}
    others = {name: run[1] for name, run in runs.items()}
    inner = None if features is None or None in others.values() else (features, others)
    truth = class_labels(labels, logits.shape[1])
    return logits, truth, {name: run[0] for name, run in runs.items()}, inner


def beside(given: tuple[Array, Sets], names: Sequence[str], what: str) -> list[Array]:
    """Returns the additional arrays of the labelled images, then of each set."""
    labelled, named = given[0], by_name(given[1], names)
    if named.keys() != {*names}:
        raise UnusableInput(
            f"{what} must be those of the labelled images, then of {', '.join(names)}, in this order or by "
            "name"
        )
    return [labelled, *(named[name] for name in names)]


def comparable(features: Sequence[FloatArray]) -> list[FloatArray]:
    """Returns features (n_i, d) divided by the root mean square of the first, float32 (n_i, min(d, 256))."""
    d = features[0].shape[1]
    scale = max(float(np.sqrt(np.square(features[0], dtype=np.float64).mean())), TINY)
    if d <= WIDEST:
        return [(values / scale).astype(np.float32) for values in features]
    turned = np.random.default_rng(0).normal(size=(d, WIDEST), scale=1 / (scale * np.sqrt(WIDEST)))
    return [(values @ turned).astype(np.float32) for values in features]


def windows(images: int, size: int) -> list[IntArray]:
    """Returns the rows of each part of `size` images; a rest below size / 2 is added to the last part.

    >>> [len(rows) for rows in windows(250, 100)], [len(rows) for rows in windows(240, 100)]
    ([100, 100, 50], [100, 140])
    """
    return np.split(np.arange(images), range(size, images - (size - 1) // 2, size))
