"""Predictions of mixes whose OOD images are from families or sets that the method was not fitted to."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from baselines.contract.estimator import Estimator, Measured
from baselines.contract.families import Fold, subset
from starter.observing.observation import MetaTrain
from submission.arrays import FloatArray

TESTED = 0.25
"""Share of the OOD sets on which a random split tests."""


def family_folds(meta: MetaTrain, test: MetaTrain) -> list[Fold]:
    """Returns one fold per family, which tests on the mixes of `test` with OOD images of that family.

    It trains on the mixes of `meta` without images of that family. `meta` and `test` may be the same mixes.
    """
    every = sorted(frozenset().union(*test.families))
    return [
        Fold(
            family,
            np.flatnonzero([family not in each for each in meta.families]),
            np.flatnonzero([family in each for each in test.families]),
        )
        for family in every
    ]


def random_folds(meta: MetaTrain, splits: int) -> list[Fold]:
    """Returns the Gscore paper's random splits (sec. 6.1: 150 sets to 50), each testing on some OOD sets.

    OOD sets of one source may be on both sides. If the names of OOD sets are unknown, families are used.

    Args:
        meta: Mixes to divide.
        splits: Number of splits.
    """
    of = [frozenset({name}) for name in meta.ood_sets] or list(meta.families)
    every = sorted(frozenset().union(*of))
    found = []
    for split in range(splits):
        order = np.random.default_rng([0, split]).permutation(len(every))
        left_out = {every[i] for i in order[: max(round(TESTED * len(every)), 1)]}
        tested = np.array([not left_out.isdisjoint(each) for each in of])
        found.append(Fold(f"split {split + 1}", np.flatnonzero(~tested), np.flatnonzero(tested)))
    return found


def held_out(method: Estimator, meta: MetaTrain, test: MetaTrain, parts: Sequence[Fold]) -> list[FloatArray]:
    """Returns, for each fold, the predictions for its test mixes of a method fitted to its train mixes.

    A method that sees mixes through rows of numbers measures each mix once.

    Args:
        method: A prototype, which is not changed.
        meta: Mixes of one subject, indexed by a fold's `train`.
        test: Mixes of the same subject, indexed by a fold's `test`.
        parts: The folds.
    """
    if not isinstance(method, Measured):
        fitted = (clone(method).fit(subset(meta, fold.train)) for fold in parts)
        return [
            model.predict(subset(test, fold.test).sets) for model, fold in zip(fitted, parts, strict=True)
        ]
    measuring = clone(method)
    measuring._prepare(meta.source)
    table = measuring._tabulate(meta)
    rows = np.array([measuring._finite(mix) for mix in test.sets])
    found = []
    for fold in parts:
        known = table.without(np.setdiff1d(np.arange(len(meta.sets)), fold.train))
        model = clone(method)
        model._learn(known.rows, known.targets, known.families)
        found.append(np.clip(model._estimate(rows[fold.test]), 0.0, 1.0))
    return found
