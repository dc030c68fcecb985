"""Stack: its columns, the copies with other priors, the weights, what it learns from, and real sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from baselines.accuracy.atc import atc
from baselines.accuracy.cbpe import cbpe
from baselines.accuracy.confscore import confscore
from baselines.accuracy.cot import cot, cott
from baselines.accuracy.ei import ei
from baselines.accuracy.entropy import entropy
from baselines.accuracy.nuclear import nuclear
from baselines.accuracy.rotation import rotation
from baselines.accuracy.stack import (
    ALPHAS,
    COLUMNS,
    GROUPS,
    Stack,
    candidates,
    convex_weights,
    fit_candidate,
    fold_shares,
    other_priors,
)
from baselines.contract.conformance import example_meta_train, example_observation
from baselines.contract.families import folds
from baselines.contract.regressors import EDGE

META = example_meta_train()
TARGETS = [example_observation(f"t{i}", 60, 0.8 * i, seed=50 + i)[0] for i in range(5)]
STACK = Stack().fit(META)


@pytest.mark.parametrize("target", TARGETS)
def test_the_columns_are_the_indicators_and_fractions_stand_as_log_odds(target):
    row = dict(zip(COLUMNS, STACK._measure(target), strict=True))
    for indicator in (confscore, atc, cbpe, nuclear, rotation, cot, cott):
        expected = np.clip(indicator(target, META.source), EDGE, 1 - EDGE)
        assert expit(row[indicator.__name__]) == pytest.approx(expected)
    assert row["entropy"] == entropy(target, META.source)
    assert expit([row["turned"]] * 3 + [row["grey"]]).mean() == pytest.approx(ei(target, META.source))


def test_candidates_are_every_union_of_groups_at_every_strength():
    ridges = [columns for name, (columns, _) in candidates().items() if "ridge" in name]
    assert len({*ridges}) == 2 ** len(GROUPS) - 1 == len(ridges) / len(ALPHAS)


def test_a_candidate_extrapolates_by_one_standard_deviation_and_no_further():
    rows = np.random.default_rng(0).normal(size=(50, len(COLUMNS)))
    column = COLUMNS.index("rotation")
    predict = fit_candidate(candidates()["views ridge 1"], rows, expit(rows[:, column]))
    new = np.zeros((4, len(COLUMNS)))
    new[:, column] = rows[:, column].max() + rows[:, column].std() * np.array([0, 0.5, 1, 100])
    predicted = predict(new)
    assert (np.diff(predicted)[:2] > 0).all()
    assert predicted[3] == predicted[2]


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_weights_against_a_general_optimiser(seed, c):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 3)
    truth = [rng.random(size) for size in sizes]
    predictions = [each[:, None] + rng.normal(0, 0.2, (len(each), c)) for each in truth]

    def loss(weights):
        off = [each @ weights - right for each, right in zip(predictions, truth, strict=True)]
        slope = sum(2 * each.T @ one / len(one) for each, one in zip(predictions, off, strict=True))
        return sum(np.mean(one**2) for one in off), slope

    found = minimize(
        loss, np.full(c, 1 / c), jac=True, bounds=[(0, None)] * c, options={"ftol": 1e-15, "gtol": 1e-10}
    )
    weights = convex_weights(predictions, truth, [1.0] * 3)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights, found.x / found.x.sum(), atol=2e-3)


def test_the_sources_fold_weighs_as_one_set():
    parts = folds([*(frozenset({name}) for name in "aaaabb"), frozenset({"identity"})])
    assert [fold.operation for fold in parts] == ["a", "b", "identity"]
    assert fold_shares(parts) == [1.0, 1.0, pytest.approx(1 / 3)]
    rng = np.random.default_rng(0)
    predictions = [rng.random((len(fold.test), 3)) for fold in parts]
    truth = [rng.random(len(fold.test)) for fold in parts]
    weighed = convex_weights(predictions, truth, fold_shares(parts))
    repeated = convex_weights([*predictions[:2] * 3, predictions[2]], [*truth[:2] * 3, truth[2]], [1.0] * 7)
    np.testing.assert_allclose(weighed, repeated, atol=1e-9)


def test_copies_have_the_drawn_images_in_every_field_and_their_own_shares_of_classes():
    target = example_observation("t", 400, 3.0, seed=1)[0]
    shares = []
    for seed in range(300):
        copy, rows = other_priors(target, np.random.default_rng(seed))
        assert len(copy) == len(rows) == 200
        assert (copy.logits == target.logits[rows]).all()
        assert (copy.rotation == target.rotation[rows]).all()
        assert all((logits == target.views[view][rows]).all() for view, logits in copy.views.items())
        shares.append(np.bincount(copy.predicted, minlength=10) / 200)
    # Shares uniform on the simplex: mean 1/k and variance (k - 1) / (k^2 (k + 1)), sampling adds some.
    np.testing.assert_allclose(np.mean(shares, axis=0), 0.1, atol=0.02)
    assert np.var(shares, axis=0).mean() == pytest.approx(9 / 1100, rel=0.15)


def test_learns_from_the_sets_their_copies_and_the_source():
    table, m = STACK._table, len(META.sets)
    assert table.rows.shape == (2 * m + 1, len(COLUMNS))
    assert (table.targets[:m] == META.targets).all()
    assert table.targets[-1] == META.source.accuracy
    assert table.families[m] == META.families[0] | {"class_prior"}
    assert (table.rows[-1] == STACK._measure(META.source.observation)).all()
