"""What cross-validation by family chooses."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from baselines.contract.conformance import example_meta_train
from baselines.contract.families import folds, half, root_mean_square, subset
from oracle import OraA, OraL
from oracle.oracle import choose, cross_validate

META = replace(
    example_meta_train(sets=12), bases=[np.random.default_rng(i).permutation(60) for i in range(12)]
)


def test_the_error_is_that_of_copies_on_operations_they_lack():
    oracle = OraL(trees=5)
    found = cross_validate(
        oracle, META, {"normalisation": ("none", "set"), "estimate": ("threshold", "mean")}
    )
    assert len(found) == 4
    for (normalisation, estimate), error in found.items():
        errors = []
        for fold in folds(META.families):
            model = clone(oracle).set_params(normalisation=normalisation, estimate=estimate)
            tested = subset(half(META, 1), fold.test)
            errors.append(model.fit(subset(half(META, 0), fold.train)).predict(tested.sets) - tested.targets)
        assert error == pytest.approx(root_mean_square(errors), abs=1e-12)


def test_the_best_is_chosen_and_the_parameters_stay():
    oracle = OraL(trees=5, normalisation="cv", estimate="cv")
    errors = cross_validate(oracle, META, oracle.choices)
    best = min(errors, key=errors.get)
    assert tuple(oracle.fit(META).chosen_.values()) == best
    assert oracle.get_params()["estimate"] == "cv"


def test_what_is_given_is_kept():
    assert choose(OraA(normalisation="global"), META) == {"normalisation": "global", "estimate": "threshold"}
