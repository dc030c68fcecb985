"""Choosing what a paper leaves open: by cross-validation by family on the meta-train sets, never by labels
of validation or test sets.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from baselines.contract.families import folds, root_mean_square, subset
from starter.observing.observation import MetaTrain

if TYPE_CHECKING:
    from oracle.oracle import Oracle

CV = "cv"
"""The value of a parameter that is to be chosen."""
LATE = "estimate"
"""The parameter that a fitted oracle can still change: it needs no training of its own."""


def choose(oracle: "Oracle", meta: MetaTrain) -> dict[str, str]:
    """The value of each of the oracle's `choices`: its own, or, where that is "cv", the best by family."""
    given = {name: getattr(oracle, name) for name in oracle.choices}
    options = {name: oracle.choices[name] if value == CV else (value,) for name, value in given.items()}
    if CV not in given.values():
        return given
    errors = cross_validate(oracle, meta, options)
    best, _ = min(errors.items(), key=lambda item: item[1])
    return dict(zip(options, best, strict=True))


def cross_validate(
    oracle: "Oracle", meta: MetaTrain, options: Mapping[str, Sequence[str]]
) -> dict[tuple[str, ...], float]:
    """RMSE, as a fraction, of each combination of options on sets with an operation it did not learn from.

    Every fold weighs the same. Copies of the oracle are trained once for each fold and combination.
    """
    parts = folds(meta.families)
    early = [name for name in options if name != LATE]
    errors: dict[tuple[str, ...], list[np.ndarray]] = {}
    for combination in product(*(options[name] for name in early)):
        for fold in parts:
            changes = {**dict(zip(early, combination, strict=True)), LATE: options[LATE][0]}
            model = clone(oracle).set_params(**changes).fit(subset(meta, fold.train))
            tested = subset(meta, fold.test)
            for estimate in options[LATE]:
                model.chosen_[LATE] = estimate
                values = {**changes, LATE: estimate}
                key = tuple(values[name] for name in options)
                errors.setdefault(key, []).append(model.predict(tested.sets) - tested.targets)
    return {key: root_mean_square(each) for key, each in errors.items()}
