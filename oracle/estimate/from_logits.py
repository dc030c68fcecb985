"""Accuracy on unlabelled images from a model's logits: several methods, one interval, and a verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from oracle.estimate.estimation import Estimation, SetEstimate
from oracle.estimate.fitted import CENTRES, Fitted, Learnt
from oracle.estimate.inputs import (
    Array,
    Sets,
    comparable,
    each_beside,
    read_features,
    read_labels,
    read_logits,
    read_sets,
    windows,
)
from starter.observing.observation import PEER, Moments, Observation
from submission.arrays import IntArray
from submission.errors import UnusableInput


def estimate(
    logits: Array,
    labels: Array,
    unlabelled: Sets,
    second: tuple[Array, Sets] | None = None,
    features: tuple[Array, Sets] | None = None,
    probabilities: bool = False,
    margin: float = 0.05,
    level: float = 0.9,
    window: int | None = None,
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
        logits: (n, k) of the labelled images, numbers or an .npy file. The model must not have learnt from
            these images.
        labels: (n,), the column of each image's class.
        unlabelled: (m, k) of one set, several in a list, or by name.
        second: a second model's logits of the labelled images, and of the unlabelled ones as in `unlabelled`:
            how often the two agree is then estimated from too.
        features: what the model's last layer reads, (n, d) of the labelled images and (m, d) of the
            unlabelled ones as in `unlabelled`: sets are then compared by it too.
        probabilities: whether rows of probabilities are given.
        margin: a fall of more than this, a fraction, is told.
        level: of the intervals, between 0 and 1.
        window: cut the sets into parts of so many images, as for a stream.

    Raises:
        UnusableInput: what is given does not fit; the message names it and the fix.
    """
    known = read_logits(logits, "logits", probabilities)
    classes = read_labels(labels, known)
    sets = read_sets(unlabelled, known.shape[1], probabilities)
    seen = {
        name: Observation(name or "labelled", "model", values) for name, values in {"": known, **sets}.items()
    }
    if second is not None:
        seen = _with_second(seen, second, probabilities)
    if features is not None:
        seen = dict(zip(seen, with_features(_read_features(seen, features)), strict=True))
    return estimate_seen(seen.pop(""), classes, seen, None, margin, level, window)


def estimate_seen(
    source: Observation,
    labels: IntArray,
    seen: Mapping[str, Observation],
    learnt: Learnt | None,
    margin: float,
    level: float,
    window: int | None,
    classes: Sequence[str] = (),
) -> Estimation:
    """Estimate the accuracy on observed sets; the arguments are those of `estimate`.

    Args:
        source: the labelled images, observed.
        labels: their labels (n,).
        seen: the observed sets by name.
        learnt: a further method, fitted on meta-train sets, whose estimate counts as the others' do.
        margin: as for `estimate`.
        level: as for `estimate`.
        window: as for `estimate`.
        classes: their names; by default their numbers.

    Raises:
        UnusableInput: level, margin or window is out of range.
    """
    if not 0 < level < 1 or not 0 <= margin <= 1:
        raise UnusableInput(f"level must lie between 0 and 1 and margin in [0, 1], got {level} and {margin}")
    if window is not None:
        seen = {
            f"{name} {rows[0]}": _part(whole, rows, f"{name} {rows[0]}")
            for name, whole in seen.items()
            for rows in windows(len(whole), window)
        }
    fitted = Fitted.of(source, labels, learnt=learnt, classes=classes)
    return Estimation(
        fitted.accuracy,
        len(labels),
        level,
        margin,
        tuple(fitted.estimate(each, margin, level) for each in seen.values()),
        tuple(_halves(source, labels, margin, level)),
        fitted.classes,
        fitted.centres,
        fitted.compared,
    )


def _halves(
    seen: Observation, labels: IntArray, margin: float, level: float
) -> list[tuple[SetEstimate, float]]:
    """Returns each half of the labelled images estimated from the other, and its true accuracy."""
    order = np.random.default_rng(0).permutation(len(labels))
    parts = np.sort(order[::2]), np.sort(order[1::2])
    halves = []
    for number, (tested, known) in enumerate((parts, parts[::-1]), start=1):
        half = _part(seen, tested, f"half {number}")
        fitted = Fitted.of(_part(seen, known, "labelled"), labels[known], CENTRES)
        found = fitted.estimate(half, margin, level)
        halves.append((found, float((half.predicted == labels[tested]).mean())))
    return halves


def _part(seen: Observation, rows: IntArray, name: str) -> Observation:
    """Returns the images at `rows` as a set of their own, with their own moments."""
    part = seen.take(rows)
    moments = None if part.features is None else Moments.of(part.features)
    return replace(part, set_name=name, moments=moments)


def _with_second(
    seen: Mapping[str, Observation], second: tuple[Array, Sets], probabilities: bool
) -> dict[str, Observation]:
    """Returns the same with a second model's logits of the same images as a view."""
    whose = "the second model's logits"
    given = each_beside(second, [name for name in seen if name], whose)
    found = {}
    for name, each in seen.items():
        of = name or "the labelled images"
        others = read_logits(given[name], f"{whose} of {of}", probabilities)
        if others.shape != each.logits.shape:
            raise UnusableInput(
                f"{whose} of {of} must be {each.logits.shape}, as the first's are, got {others.shape}"
            )
        found[name] = replace(each, views={f"{PEER}second": others})
    return found


def _read_features(seen: Mapping[str, Observation], given: tuple[Array, Sets]) -> list[Observation]:
    """Returns the same with the features that are given."""
    beside = each_beside(given, [name for name in seen if name], "features")
    found: list[Observation] = []
    for name, each in seen.items():
        features = read_features(beside[name], name or "the labelled images", len(each))
        known = found[0].features if found else features
        if known is not None and features.shape[1] != known.shape[1]:
            raise UnusableInput(
                f"the features of {name} have {features.shape[1]} numbers, those of the labelled images "
                f"{known.shape[1]}: give one layer's"
            )
        found.append(replace(each, features=features))
    return found


def with_features(seen: Sequence[Observation]) -> list[Observation]:
    """Returns observations, the labelled ones first, with features that can be compared and their moments."""
    features = comparable([each.features for each in seen if each.features is not None])
    pairs = zip(seen, features, strict=True)
    return [replace(each, features=values, moments=Moments.of(values)) for each, values in pairs]
