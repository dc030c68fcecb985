"""Cross-validation by family: a fold tests on the meta-train sets with an operation, trains on the others.

Meta-train sets are samples of one base, so the two sides of a fold share images, but no operations. For
methods that see a set through indicators this is as good as disjoint images, with which the RMSE of five of
them, 4 to 16 points, rises by at most 0.1. Methods that learn from single images are fitted to one `half` of
the base and tested on the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from starter.observing.observation import Lazy, MetaTrain
from submission.arrays import IntArray

FEWEST = 2
"""Smallest number of sets to train on in a fold."""
PLAIN_FOLDS = 5
"""Number of folds if no operation can be left out."""
TESTED = 0.25
"""Share of the OOD sets on which a random split tests."""


@dataclass(frozen=True)
class Fold:
    """One fold of a cross-validation, which leaves an operation out of training."""

    operation: str
    train: IntArray  # indices of the sets to train on, none of which has the operation
    test: IntArray  # indices of the sets to test on


def folds(families: Sequence[frozenset[str]], tested: Sequence[frozenset[str]] | None = None) -> list[Fold]:
    """Returns one fold for each operation, in alphabetical order, which tests on the sets with it.

    A set with three operations is tested three times, one without never. An operation that leaves fewer than
    `FEWEST` sets to train on gets no fold; without any fold, the sets are dealt in turn. `tested` has the
    operations of other sets to test on.
    """
    parts = {each: [each] for each in _all(tested or families)}
    found = leaving_out(parts, families, tested)
    return [fold for fold in found if len(fold.train) >= FEWEST] or _in_turn(len(families), PLAIN_FOLDS)


def blocks(families: Sequence[frozenset[str]], count: int = 4) -> list[Fold]:
    """Returns `count` folds that each test on the sets with one block of operations, and train on the others.

    A set is tested in the folds of all its operations. If a block leaves fewer than `FEWEST` sets to train
    on, all sets are dealt in turn.
    """
    operations = _all(families)
    parts = [operations[start::count] for start in range(min(count, len(operations)))]
    found = leaving_out({"+".join(part): part for part in parts}, families)
    if not found or any(len(fold.train) < FEWEST for fold in found):
        return _in_turn(len(families), count)
    return found


def _all(families: Sequence[frozenset[str]]) -> list[str]:
    """Returns the names of all operations, in alphabetical order."""
    if len(families) <= FEWEST:
        raise ValueError(f"cross-validation needs at least {FEWEST + 1} sets, got {len(families)}")
    return sorted(frozenset().union(*families))


def leaving_out(
    parts: Mapping[str, Iterable[str]],
    families: Sequence[frozenset[str]],
    tested: Sequence[frozenset[str]] | None = None,
) -> list[Fold]:
    """Returns, for each named part of the operations, the fold that tests on the sets with one of them."""
    found = []
    for name, part in parts.items():
        operations = frozenset(part)
        learnt, asked = (
            np.array([not operations.isdisjoint(family) for family in of])
            for of in (families, tested or families)
        )
        found.append(Fold(name, np.flatnonzero(~learnt), np.flatnonzero(asked)))
    return found


def _in_turn(m: int, count: int) -> list[Fold]:
    """Returns folds that test on every `count`-th set."""
    names = [f"part {number}" for number in range(1, min(count, m) + 1)]
    dealt = [frozenset({names[i % len(names)]}) for i in range(m)]
    return leaving_out({name: [name] for name in names}, dealt)


def random_folds(meta: MetaTrain, splits: int) -> list[Fold]:
    """Returns the Gscore paper's random splits (sec. 6.1: 150 sets to 50), of families without names."""
    of = [frozenset({name}) for name in meta.ood_sets] or list(meta.families)
    every = _all(of)
    count = max(round(TESTED * len(every)), 1)
    drawn = (np.random.default_rng([0, split]).permutation(every)[:count] for split in range(splits))
    return leaving_out({f"split {number}": part for number, part in enumerate(drawn, 1)}, of)


def divided(meta: MetaTrain, count: int) -> list[Fold]:
    """Returns `count` folds of the mixes by whole families, at random; each fold is tested once."""
    names = np.random.default_rng(0).permutation(_all(meta.families))
    parts = np.array_split(names, min(count, len(names)))
    return leaving_out({f"part {number}": part for number, part in enumerate(parts, 1)}, meta.families)


def subset(meta: MetaTrain, rows: IntArray) -> MetaTrain:
    """Returns the meta-train sets at `rows` (indices), read lazily one by one."""
    known = {
        name: getattr(meta, name) for name in ("correct", "families", "ood", "ood_sets", "bases", "labels")
    }
    parts: dict[str, Any] = {name: [each[row] for row in rows] for name, each in known.items() if each}
    sets = Lazy(tuple(map(int, rows)), meta.sets.__getitem__)
    return replace(meta, sets=sets, targets=meta.targets[rows], **parts)


def side_of(meta: MetaTrain, side: int) -> list[IntArray]:
    """Returns each set's rows from base images of even (side 0) or odd index (1); all if there are none."""
    found = []
    for i, correct in enumerate(meta.correct):
        rows = np.flatnonzero(meta.bases[i] % 2 == side) if meta.bases else np.arange(len(correct))
        found.append(rows if len(rows) else np.arange(len(correct)))
    return found


def half(meta: MetaTrain, side: int) -> MetaTrain:
    """Returns the meta-train sets of the accuracy track with only the images of one side (see `side_of`)."""
    rows = side_of(meta, side)
    known = {name: getattr(meta, name) for name in ("correct", "bases", "labels")}
    parts: dict[str, Any] = {
        name: [values[chosen] for values, chosen in zip(each, rows, strict=True)]
        for name, each in known.items()
        if each
    }
    sets = Lazy(range(len(rows)), lambda i: meta.sets[i].take(rows[i]))
    return replace(meta, sets=sets, targets=np.array([each.mean() for each in parts["correct"]]), **parts)
