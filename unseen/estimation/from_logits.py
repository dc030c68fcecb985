"""Estimates of the accuracy on unlabelled images from a model's logits, with intervals and verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from starter.observing.observation import PEER, Moments, Observation
from submission.arrays import IntArray
from submission.errors import UnusableInput
from unseen.estimation.estimates import SetEstimate
from unseen.estimation.estimation import Estimation
from unseen.estimation.fitted import CENTRES, Fitted, Learnt
from unseen.estimation.inputs import (
    LEAST_IMAGES,
    Array,
    Asked,
    Model,
    Sets,
    beside,
    by_name,
    comparable,
    opened,
    read_batches,
    read_labels,
    read_logits,
    read_numbers,
    windows,
)


# Ten parameters: all that a user may say of an estimate in one call. Types in quotes print as their short
# names in help().
def estimate(
    logits: "Array | Model",
    labels: "Array",
    unlabelled: "Sets",
    second: "tuple[Array, Sets] | None" = None,
    features: "tuple[Array, Sets] | None" = None,
    probabilities: bool = False,
    margin: float = 0.05,
    level: float = 0.9,
    window: int | None = None,
    classes: Sequence[str] = (),
) -> Estimation:
    """Estimate how accurate a model is on unlabelled sets, from its logits on labelled and unlabelled images.

    >>> import numpy as np, unseen
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(5, size=1000)
    >>> logits = rng.normal(size=(1000, 5)) + 3 * np.eye(5)[labels]
    >>> found = unseen.estimate(logits, labels, {"today": logits[:500], "harder": logits[500:] / 3})
    >>> list(found.table.index), bool(found.table.accuracy["today"] > found.table.accuracy["harder"])
    (['today', 'harder'], True)

    Args:
        logits: Logits of the labelled images, (n, k): an array, a tensor of PyTorch, a table of pandas, or a
            file (.npy, .npz with one array, .csv). The model must not have been trained on these images. Or
            the model: a network of PyTorch, or a function from a batch of images to their logits.
        labels: Class of each labelled image, a column of its logits or one of `classes`, (n,). With a model,
            a DataLoader that gives (images, labels).
        unlabelled: Logits of one set, (m, k); of several sets in a list; or of sets by name. With a model, a
            DataLoader, or several by name, that give images, or (images, anything).
        second: Logits of a second model, of the labelled images and of the sets, in the form of `unlabelled`;
            the share of images on which both models agree is then one of the methods.
        features: Input of the model's last layer, (n, d) for the labelled images and (m, d) for each set, in
            the form of `unlabelled`; sets are then compared by their features too. A network tells its own.
        probabilities: True if the rows hold probabilities, not logits.
        margin: Fall in accuracy above which a set counts as fallen, a fraction in [0, 1].
        level: Level of the intervals, between 0 and 1.
        window: Number of images, an int >= 20, in each part that the sets are cut into, as for a stream; None
            to estimate whole sets.
        classes: Names of the classes, in the order of the columns; by default the names of the columns of
            `logits`, in whose order those of a set with the same names are read, or else numbers.

    Returns:
        The estimate and interval of each set, with a check on halves of the labelled images.
    """
    asked = Asked(margin=margin, level=level, window=window)
    given: Any = logits
    if callable(logits):
        given, labels, unlabelled, features = read_batches(logits, labels, unlabelled)
    table = opened(given, "logits")
    known = read_logits(table.values, table.name, probabilities)
    classes = table.columns if not classes or sorted(table.columns) == sorted(classes) else classes
    truth = read_labels(labels, known, classes)
    if len(classes) not in (0, known.shape[1]):
        raise UnusableInput(
            f"{len(classes)} classes are named, but the logits have {known.shape[1]} columns: name each"
        )
    source = Observation("the labelled images", "model", known)
    seen = [source, *_read_sets(by_name(unlabelled), source, table.columns, probabilities)]
    if second is not None:
        seen = _with_second(seen, second, table.columns, probabilities)
    if features is not None:
        seen = with_features(_read_features(seen, features))
    return estimate_seen(seen[0], truth, seen[1:], asked, classes)


def _read_sets(
    unlabelled: Mapping[str, Array], source: Observation, columns: Sequence[str], probabilities: bool
) -> Iterator[Observation]:
    """Yields the sets by their logits, which have the columns of the labelled images'."""
    if not unlabelled:
        raise UnusableInput("no unlabelled set is given: name one or more")
    shape = (None, source.logits.shape[1])
    for name, each in unlabelled.items():
        given = opened(each, name, columns)
        yield Observation(name, "model", read_logits(given.values, given.name, probabilities, shape))


def _with_second(
    seen: Sequence[Observation], second: tuple[Array, Sets], columns: Sequence[str], probabilities: bool
) -> list[Observation]:
    """Returns the observations with a second model's logits of the same images."""
    whose = "the second model's logits"
    names = [each.set_name for each in seen[1:]]
    both = []
    for each, other in zip(seen, beside(second, names, whose), strict=True):
        given = opened(other, f"{whose} of {each.set_name}", columns)
        logits = read_logits(given.values, given.name, probabilities, each.logits.shape)
        both.append(replace(each, views={f"{PEER}second": logits}))
    return both


def _read_features(seen: Sequence[Observation], features: tuple[Array, Sets]) -> list[Observation]:
    """Returns the observations with features, of as many columns as those of the first."""
    names = [each.set_name for each in seen[1:]]
    columns: Sequence[str] = ()
    width = None
    featured = []
    for each, array in zip(seen, beside(features, names, "features"), strict=True):
        given = opened(array, f"the features of {each.set_name}", columns)
        _, values = read_numbers(given.values, given.name, len(each), width)
        columns = given.columns
        width = values.shape[1]
        featured.append(replace(each, features=values.astype(np.float32)))
    return featured


def estimate_seen(
    source: Observation,
    labels: IntArray,
    seen: Sequence[Observation],
    asked: Asked,
    classes: Sequence[str],
    learnt: Learnt | None = None,
) -> Estimation:
    """Estimate the accuracy on observed sets from the observed labelled images; see `estimate`."""
    for each in seen:
        if len(each) < LEAST_IMAGES:
            raise UnusableInput(
                f"{each.set_name} has {len(each)} images: an estimate needs {LEAST_IMAGES} or more"
            )
    if asked.window is not None:
        seen = [part for whole in seen for part in _windows_of(whole, asked.window)]
    fitted = Fitted.of(source, labels, learnt=learnt, classes=classes)
    largest_share = float(np.bincount(labels).max() / len(labels))
    return Estimation(
        accuracy=fitted.accuracy,
        images=len(labels),
        level=asked.level,
        margin=asked.margin,
        sets=tuple(fitted.estimate(each, asked) for each in seen),
        halves=tuple(_halves(source, labels, asked)),
        classes=fitted.classes,
        centres=fitted.centres,
        compared=fitted.compared,
        chance=max(1 / source.logits.shape[1], largest_share),
        seen=tuple(seen),
    )


def _windows_of(whole: Observation, size: int) -> Iterator[Observation]:
    """Yields the windows of a set, which are named by their first and last row."""
    for rows in windows(len(whole), size):
        yield _part(whole, rows, f"{whole.set_name} {rows[0]}-{rows[-1]}")


def _halves(seen: Observation, labels: IntArray, asked: Asked) -> Iterator[tuple[SetEstimate, float]]:
    """Yields the estimate of each half of the labelled images from the other half, and its true accuracy."""
    order = np.random.default_rng(0).permutation(len(labels))
    for side in (0, 1):
        tested = np.sort(order[side::2])
        known = np.sort(order[1 - side :: 2])
        half = _part(seen, tested, f"half {side + 1}")
        fitted = Fitted.of(_part(seen, known, "labelled"), labels[known], (*CENTRES, "cott"))
        yield fitted.estimate(half, asked), float((half.predicted == labels[tested]).mean())


def _part(seen: Observation, rows: IntArray, name: str) -> Observation:
    """Returns the images at `rows` as a set of their own, with their own moments."""
    part = seen.take(rows)
    moments = None if part.features is None else Moments.of(part.features)
    return replace(part, set_name=name, moments=moments)


def with_features(seen: Sequence[Observation]) -> list[Observation]:
    """Returns the observations with features on a common scale and moments; the labelled one is first."""
    features = comparable([each.features for each in seen if each.features is not None])
    pairs = zip(seen, features, strict=True)
    return [replace(each, features=values, moments=Moments.of(values)) for each, values in pairs]
