"""Estimates of the accuracy on unlabelled images from a model's logits, with intervals and verdicts."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from starter.observing.observation import PEER, Moments, Observation
from submission.arrays import IntArray
from submission.errors import UnusableInput
from submission.progress import progress
from unseen.estimation.estimates import SetEstimate
from unseen.estimation.estimation import Estimation
from unseen.estimation.exchanged import exchanged_classes
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
    read_batches,
    read_features,
    read_labels,
    read_logits,
    windows,
)
from unseen.estimation.tables import Given, class_columns, in_order_of, read

MOST = 100_000
"""Largest number of images that are read of a set: the sampling noise of more is below .2 points."""
CHECKED = 10_000
"""Largest number of labelled images of whose halves each is estimated from the other, as a check."""


# Eleven parameters: all that a user may say of an estimate in one call. Types in quotes print as their short
# names in help().
def estimate(  # noqa: PLR0913
    logits: "Array | Model",
    labels: "Array",
    unlabelled: "Sets",
    second: "tuple[Array, Sets] | None" = None,
    features: "tuple[Array, Sets] | None" = None,
    probabilities: bool = False,
    margin: float = 0.05,
    level: float = 0.9,
    window: int | None = None,
    by: "Path | Sequence[Array] | Mapping[str, Array]" = (),
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
        by: A date or another key of each image, an array or file for each set, in their order or by name: the
            images of a day or key are a window, in the order of time; those below `window` are joined.
        classes: Names of the classes, in the order of the columns; by default the names of the columns of
            `logits`, in whose order those of a set with the same names are read, or else numbers.

    Returns:
        The estimate and interval of each set, with a check on halves of the labelled images.
    """
    keys = [by] if isinstance(by, str | Path) else by
    asked = Asked(margin=margin, level=level, window=window, by=keys)
    given: Any = logits
    if callable(logits):
        given, labels, unlabelled, features = read_batches(logits, labels, unlabelled)
    table = class_columns(read(given, "logits"), classes, labelled=True)
    known = read_logits(table, probabilities)
    n, k = known.shape
    classes = classes or table.columns
    truth = read_labels(in_order_of(read(labels, "labels", "labels"), table.index, table.what), n, k, classes)
    if len(classes) not in (0, k):
        raise UnusableInput(f"{len(classes)} classes are named, but the logits have {k} columns: name each")
    if not (called := by_name(unlabelled)):
        raise UnusableInput("no unlabelled set is given: name one or more")
    tables = {"the labelled images": table}
    for name, each in called.items():
        tables[name] = class_columns(read(each, name), table.columns, labelled=False)
    seen = [Observation("the labelled images", "model", known)]
    for name in called:
        seen.append(Observation(name, "model", read_logits(tables[name], probabilities, (None, k))))
    if second is not None:
        seen = _with_second_model(seen, second, list(tables.values()), probabilities)
    if features is not None:
        seen = _with_features_of(seen, features, list(tables.values()))
    return estimate_seen(seen[0], truth, seen[1:], asked, classes, notes=_left_out(tables.values()))


def _with_second_model(
    seen: Sequence[Observation], second: tuple[Array, Sets], tables: Sequence[Given], probabilities: bool
) -> list[Observation]:
    """Returns the observations with the logits of a second model, in the order of the tables' rows."""
    whose = "the second model's logits"
    named = [each.set_name for each in seen[1:]]
    found = []
    for each, values, table in zip(seen, beside(second, named, whose), tables, strict=True):
        given = class_columns(read(values, f"{whose} of {each.set_name}"), tables[0].columns, labelled=False)
        given = in_order_of(given, table.index, "the model's logits")
        logits = read_logits(given, probabilities, each.logits.shape)
        found.append(replace(each, views={f"{PEER}second": logits}))
    return found


def _with_features_of(
    seen: Sequence[Observation], features: tuple[Array, Sets], tables: Sequence[Given]
) -> list[Observation]:
    """Returns the observations with features on a common scale, in the order of the tables' rows."""
    named = [each.set_name for each in seen[1:]]
    found = list[Observation]()
    columns: tuple[str, ...] = ()
    width: int | None = None
    for each, values, table in zip(seen, beside(features, named, "features"), tables, strict=True):
        given = read(values, f"the features of {each.set_name}", "features")
        given = class_columns(given, columns, labelled=not found)
        read_values = read_features(in_order_of(given, table.index, "the logits"), (len(each), width))
        columns = given.columns
        width = read_values.shape[1]
        found.append(replace(each, features=read_values))
    return with_features(found)


def _left_out(tables: Iterable[Given]) -> list[str]:
    """Returns a sentence on the columns that were left out of each table."""
    return [
        f"{each.what}: the columns {', '.join(each.others)} are no classes', and were left out"
        for each in tables
        if each.others
    ]


def estimate_seen(
    source: Observation,
    labels: IntArray,
    seen: Sequence[Observation],
    asked: Asked,
    classes: Sequence[str],
    learnt: Learnt | None = None,
    notes: Sequence[str] = (),
) -> Estimation:
    """Estimate the accuracy on observed sets from the observed labelled images; see `estimate`."""
    for each in seen:
        if len(each) < LEAST_IMAGES:
            raise UnusableInput(
                f"{each.set_name} has {len(each)} images: an estimate needs {LEAST_IMAGES} or more"
            )
    if asked.window is not None or len(asked.by):
        cuts = zip(seen, windows({each.set_name: len(each) for each in seen}, asked), strict=True)
        seen = [_part(whole, rows, name) for whole, parts in cuts for name, rows in parts.items()]
    known = _sample(source)
    # The check goes beside the estimates; with more threads than these two, BLAS and OpenMP mostly wait.
    with threadpool_limits(1), ThreadPoolExecutor(max_workers=1) as aside:
        checked = _sample(source, CHECKED)
        halves = aside.submit(_halves, checked.seen, labels[checked.rows], asked)
        fitted = Fitted.of(known.seen, labels[known.rows], learnt=learnt, classes=classes)
        sets = [_of_sample(fitted, whole, asked) for whole in progress(seen, "estimate", unit="sets")]
    k = source.logits.shape[1]
    shares = (np.bincount(each, minlength=k) / len(labels) for each in (source.predicted, labels))
    pairs = exchanged_classes(source.predicted, labels, k)
    estimation = Estimation(
        accuracy=float((source.predicted == labels).mean()),
        images=len(labels),
        level=asked.level,
        margin=asked.margin,
        sets=tuple(sets),
        halves=halves.result(),
        classes=fitted.classes,
        centres=fitted.centres,
        compared=fitted.compared,
        chance=float(np.multiply(*shares).sum()),
        seen=tuple(seen),
        exchanged=tuple((fitted.classes[label], fitted.classes[meant]) for label, meant in pairs),
        notes=(*notes, *fitted.notes),
    )
    return _without_verdicts(estimation) if estimation.warning else estimation


def _without_verdicts(estimation: Estimation) -> Estimation:
    """Returns the estimates where none can be trusted: no set is said to have fallen or not."""
    sets = [replace(each, fallen="cannot tell", least=0.0, promised=False) for each in estimation.sets]
    return replace(estimation, sets=tuple(sets))


class Sample(NamedTuple):
    """Some images of a set, and their rows (n,) in it."""

    seen: Observation
    rows: IntArray


def _sample(whole: Observation, most: int = MOST) -> Sample:
    """Returns a set, or of a large one `most` images that are drawn at random."""
    rows = np.arange(len(whole))
    if len(whole) <= most:
        return Sample(whole, rows)
    rows = np.sort(np.random.default_rng(0).permutation(len(whole))[:most])
    return Sample(_part(whole, rows, whole.set_name), rows)


def _of_sample(fitted: Fitted, whole: Observation, asked: Asked) -> SetEstimate:
    """Returns the estimate of a set, of a large one by a sample of it."""
    sample = _sample(whole).seen
    found = fitted.estimate(sample, asked)
    if len(sample) == len(whole):
        return found
    remark = f"{len(sample):,} of its {len(whole):,} images were read, drawn at random"
    return replace(found, images=len(whole), remarks=(*found.remarks, remark))


def _halves(seen: Observation, labels: IntArray, asked: Asked) -> tuple[tuple[SetEstimate, float], ...]:
    """Returns the estimate of each half of the labelled images from the other half, and its true accuracy."""
    order = np.random.default_rng(0).permutation(len(labels))
    halves = []
    for side in (0, 1):
        tested = np.sort(order[side::2])
        known = np.sort(order[1 - side :: 2])
        half = _part(seen, tested, f"half {side + 1}")
        fitted = Fitted.of(_part(seen, known, "labelled"), labels[known], (*CENTRES, "cott"))
        halves.append((fitted.estimate(half, asked), float((half.predicted == labels[tested]).mean())))
    return tuple(halves)


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
