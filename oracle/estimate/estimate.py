"""Accuracy on unlabelled images from a model's logits: several methods, one interval, and a verdict."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from baselines.contract.estimator import Estimator
from oracle.estimate.estimation import Estimation, SetEstimate
from oracle.estimate.fitted import CENTRES, Fitted
from oracle.estimate.inputs import Array, Sets, read_labels, read_logits, read_sets, windows
from starter.observing.observation import PEER, Observation
from submission.arrays import FloatArray, IntArray
from submission.errors import UnusableInput


def estimate(
    logits: Array,
    labels: Array,
    unlabelled: Sets,
    second: tuple[Array, Sets] | None = None,
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
    source = _observed("labelled", known)
    seen = {name: _observed(name, values) for name, values in sets.items()}
    if second is not None:
        source, seen = _beside(source, seen, second, probabilities)
    return estimate_seen(source, classes, seen, {}, margin, level, window)


def estimate_seen(
    source: Observation,
    labels: IntArray,
    seen: Mapping[str, Observation],
    learnt: Mapping[str, Estimator],
    margin: float,
    level: float,
    window: int | None,
) -> Estimation:
    """Estimate the accuracy on observed sets; the arguments are those of `estimate`.

    Args:
        source: the labelled images, observed.
        labels: their labels (n,).
        seen: the observed sets by name.
        margin: as for `estimate`.
        level: as for `estimate`.
        window: as for `estimate`.
        learnt: further methods, fitted, whose estimates count as the others' do.

    Raises:
        UnusableInput: level, margin or window is out of range.
    """
    if not 0 < level < 1 or not 0 <= margin <= 1:
        raise UnusableInput(f"level must lie between 0 and 1 and margin in [0, 1], got {level} and {margin}")
    if window is not None:
        seen = {
            f"{name} {rows[0]}": replace(whole.take(rows), set_name=f"{name} {rows[0]}")
            for name, whole in seen.items()
            for rows in windows(len(whole), window)
        }
    fitted = Fitted.of(source, labels)
    return Estimation(
        fitted.accuracy,
        len(labels),
        level,
        margin,
        tuple(fitted.estimate(each, margin, level, learnt) for each in seen.values()),
        tuple(_halves(source, labels, margin, level)),
    )


def _halves(
    seen: Observation, labels: IntArray, margin: float, level: float
) -> list[tuple[SetEstimate, float]]:
    """Returns each half of the labelled images estimated from the other, and its true accuracy."""
    order = np.random.default_rng(0).permutation(len(labels))
    parts = np.sort(order[::2]), np.sort(order[1::2])
    halves = []
    for number, (tested, known) in enumerate((parts, parts[::-1]), start=1):
        half = replace(seen.take(tested), set_name=f"half {number}")
        found = Fitted.of(seen.take(known), labels[known], CENTRES).estimate(half, margin, level)
        halves.append((found, float((half.predicted == labels[tested]).mean())))
    return halves


def _observed(name: str, logits: FloatArray) -> Observation:
    return Observation(name, "model", logits)


def _beside(
    source: Observation,
    sets: Mapping[str, Observation],
    second: tuple[Array, Sets],
    probabilities: bool,
) -> tuple[Observation, dict[str, Observation]]:
    """Returns the same with a second model's logits of the same images as a view."""
    classes = source.logits.shape[1]
    others = {
        "labelled": read_logits(second[0], "the second model's logits", probabilities),
        **dict(zip(sets, read_sets(second[1], classes, probabilities).values(), strict=False)),
    }
    found = {}
    for name, seen in {"labelled": source, **sets}.items():
        if name not in others or others[name].shape != seen.logits.shape:
            raise UnusableInput(
                f"the second model's logits of {name} must be {seen.logits.shape}, as the first's are: give "
                "those of the labelled images, then of each set in turn"
            )
        found[name] = replace(seen, views={f"{PEER}second": others[name]})
    return found.pop("labelled"), found
