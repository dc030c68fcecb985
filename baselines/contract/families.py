"""Cross-validation by family: a fold tests on the meta-train sets with an operation, trains on the others.

Meta-train sets are samples of one base, so the two sides of a fold share images, but no operations. For
methods that see a set through indicators this is as good as disjoint images: with one half of the base to
train on and the other to test on, the RMSE of confscore, nuclear, cot, rotation and of ridge on thirty
indicators rises by at most 0.1 points, from 4 to 16 points (embedded digits, CIFAR-10 with ResNet-56).
Methods that learn from single images are fitted to one `half` of the base and tested on the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from starter.observing.observation import Lazy, MetaTrain

FEWEST = 2
"""Smallest number of sets to train on in a fold."""
PLAIN_FOLDS = 5
"""Number of folds if no operation can be left out."""


@dataclass(frozen=True)
class Fold:
    """One fold of a cross-validation.

    Attributes:
        operation: Name of the operation that is left out of training.
        train: Indices of the sets to train on, int64, none of which has the operation.
        test: Indices of the sets to test on, int64.
    """

    operation: str
    train: NDArray[np.int64]
    test: NDArray[np.int64]


def folds(families: Sequence[frozenset[str]]) -> list[Fold]:
    """Returns one fold for each operation, in alphabetical order, which tests on the sets with it.

    A set with three operations is tested three times, each time by a model that was trained without one of
    them; a set without operations is never tested. An operation that leaves fewer than two sets to train on
    gets no fold. If no operation can be left out (every set has all of them), the sets are dealt in turn to
    five folds.

    Raises:
        ValueError: there are fewer than three sets.
    """
    m = len(families)
    if m <= FEWEST:
        raise ValueError(f"cross-validation needs at least {FEWEST + 1} sets, got {m}")
    has = {operation: np.array([operation in family for family in families]) for operation in _all(families)}
    found = [
        Fold(operation, np.flatnonzero(~tested), np.flatnonzero(tested))
        for operation, tested in has.items()
        if (~tested).sum() >= FEWEST
    ]
    turn = np.arange(m) % min(PLAIN_FOLDS, m)
    return found or [
        Fold(f"part {i + 1}", np.flatnonzero(turn != i), np.flatnonzero(turn == i))
        for i in range(turn.max() + 1)
    ]


def blocks(families: Sequence[frozenset[str]], count: int = 4) -> list[Fold]:
    """Returns `count` folds that each test on the sets with one block of operations, and train on the others.

    Operations are dealt to the blocks in alphabetical order; a set is tested in the folds of all its
    operations. This is harder than `folds` and takes fewer fits. If a block leaves fewer than two sets to
    train on, all sets are dealt in turn to `count` folds.

    Raises:
        ValueError: there are fewer than three sets.
    """
    m = len(families)
    if m <= FEWEST:
        raise ValueError(f"cross-validation needs at least {FEWEST + 1} sets, got {m}")
    operations = _all(families)
    parts = [frozenset(operations[start::count]) for start in range(min(count, len(operations)))]
    tested = [np.array([bool(part & family) for family in families]) for part in parts]
    if any((~each).sum() < FEWEST for each in tested) or not np.any(tested, axis=0).all():
        parts = [frozenset({f"part {i + 1}"}) for i in range(min(count, m))]
        tested = [np.arange(m) % len(parts) == i for i in range(len(parts))]
    return [
        Fold("+".join(sorted(part)), np.flatnonzero(~each), np.flatnonzero(each))
        for part, each in zip(parts, tested, strict=True)
    ]


def _all(families: Sequence[frozenset[str]]) -> list[str]:
    return sorted(frozenset().union(*families))


def root_mean_square(errors: Sequence[NDArray[np.float64]]) -> float:
    """Returns the RMSE over folds of equal weight: the root of the mean of the folds' mean square errors."""
    return float(np.sqrt(np.mean([np.mean(np.square(each)) for each in errors])))


def subset(meta: MetaTrain, rows: NDArray[np.int64]) -> MetaTrain:
    """Returns the meta-train sets at `rows` (indices), read lazily one by one."""
    return replace(
        meta,
        sets=Lazy(tuple(map(int, rows)), meta.sets.__getitem__),
        targets=meta.targets[rows],
        correct=[meta.correct[row] for row in rows] if meta.correct else (),
        families=[meta.families[row] for row in rows],
        ood=[meta.ood[row] for row in rows] if meta.ood else (),
        ood_sets=[meta.ood_sets[row] for row in rows] if meta.ood_sets else (),
        bases=[meta.bases[row] for row in rows] if meta.bases else (),
        labels=[meta.labels[row] for row in rows] if meta.labels else (),
    )


def side_of(meta: MetaTrain, side: int) -> list[NDArray[np.int64]]:
    """Returns, per set, the indices (int64) of its images that are made from base images on one side, 0 or 1.

    Base images with even indices are on side 0, the others on side 1. A set without an image on the side
    keeps all its images, and so does every set if the base images are unknown.
    """
    found = []
    for i, correct in enumerate(meta.correct):
        rows = np.flatnonzero(meta.bases[i] % 2 == side) if meta.bases else np.arange(len(correct))
        found.append(rows if len(rows) else np.arange(len(correct)))
    return found


def half(meta: MetaTrain, side: int) -> MetaTrain:
    """Returns the meta-train sets of the accuracy track with only the images of one side (see `side_of`)."""
    rows = side_of(meta, side)
    correct = [each[chosen] for each, chosen in zip(meta.correct, rows, strict=True)]
    return replace(
        meta,
        sets=Lazy(range(len(rows)), lambda i: meta.sets[i].take(rows[i])),
        targets=np.array([each.mean() for each in correct]),
        correct=correct,
        bases=[each[chosen] for each, chosen in zip(meta.bases, rows, strict=True)] if meta.bases else (),
        labels=[each[chosen] for each, chosen in zip(meta.labels, rows, strict=True)] if meta.labels else (),
    )
