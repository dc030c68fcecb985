"""Direct and Regressed, and the one path from `predict` to `_predict`."""

import numpy as np
import pytest
from mixes import gaussian_mixes
from rules import with_fields

from baselines import OOD_BASELINES, Direct, Estimator, Regressed
from baselines.accuracy.confscore import confscore
from baselines.accuracy.fd import fd
from baselines.contract.conformance import example_meta_train
from baselines.contract.estimator import asked
from baselines.contract.families import folds, subset
from baselines.contract.regressors import REGRESSORS
from submission import UnusableInput

META = example_meta_train()


class Fixed(Estimator):
    def __init__(self, value=0.5):
        self.value = value

    def _predict(self, observation):
        return self.value


@pytest.mark.parametrize("name", ["gscore-ude-w", "plugin-mpe", "constant"])
def test_held_out_is_a_fit_on_the_others(name):
    meta, test = gaussian_mixes(sets=40), gaussian_mixes(sets=20, seed=2)
    parts, method = folds(meta.families, test.families)[:2], OOD_BASELINES[name]
    for fold, found in zip(parts, method.held_out(meta, test, parts), strict=True):
        fitted = type(method)(**method.get_params()).fit(subset(meta, fold.train))
        assert found == pytest.approx(fitted.predict(subset(test, fold.test).sets))


@pytest.mark.parametrize("name", REGRESSORS)
def test_the_regressor_is_chosen_by_name(name):
    values = np.array([[confscore(observation, META.source)] for observation in META.sets])
    expected = REGRESSORS[name]().fit(values, META.targets).predict(values)
    predicted = Regressed(confscore, regressor=name).fit(META).predict(META.sets)
    np.testing.assert_allclose(predicted, np.clip(expected, 0, 1), atol=1e-12)


def test_predictions_are_clipped_and_of_no_sets_there_are_none():
    assert Fixed(1.7).fit(META).predict(META.sets[:2]).tolist() == [1.0, 1.0]
    assert Fixed(-0.2).fit(META).predict(META.sets[:1]).tolist() == [0.0]
    assert Fixed().fit(META).predict([]).shape == (0,)


def infinite(target, source):
    return float("inf")


@pytest.mark.parametrize(
    ("predict", "word"),
    [
        (lambda: Fixed().predict(META.sets), "not fitted"),
        (lambda: Fixed().save("m"), "not fitted"),
        (lambda: Fixed().predict_interval(META.sets), "not fitted"),
        (lambda: Fixed(float("nan")).fit(META).predict(META.sets), "nan for set 'train_0'"),
        (lambda: Fixed(-np.inf).fit(META).predict(META.sets), "-inf for set 'train_0'"),
        (
            lambda: Fixed(None).fit(META).predict(META.sets),
            "None for set 'train_0': end _predict with a return",
        ),
        (lambda: Fixed(np.ones(60)).fit(META).predict(META.sets), r"shape \(60,\) for set 'train_0'"),
        (lambda: Fixed(73.0).fit(META).predict(META.sets), "73 for set 'train_0'.* not percentages"),
        (lambda: Regressed(fd, ("moments",)).fit(META).predict(META.only(()).sets), "`moments`.*'train_0'"),
        (lambda: Regressed(fd, ("moments",)).fit(META.only(())), "`moments`.*'reference'"),
        (lambda: Regressed(infinite).fit(META), "Regressed.infinite. is not finite on set 'train_0'"),
        (lambda: Regressed(confscore, regressor="lasso").fit(META), "'lasso'.* linear, ridge, lightgbm"),
    ],
)
def test_what_cannot_be_predicted_is_told(predict, word):
    with pytest.raises(ValueError, match=word):
        predict()


class Reads(Estimator):
    needs = ("moments",)
    wants = ("referee",)

    def __init__(self, read=None):
        self.read = read

    def _fit(self, meta):
        assert meta.sets[0].referee is not None

    def _predict(self, observation):
        return self.read(observation)


@pytest.mark.parametrize(
    ("field", "read"),
    [
        ("features", lambda seen: seen.features.mean()),
        ("features", lambda seen: np.mean(seen.features)),
        ("image_stats", lambda seen: len(seen.image_stats)),
        ("rotation", lambda seen: np.ones(3) - seen.rotation),
        ("rotation", lambda seen: seen.rotation / 2),
        ("rotations", lambda seen: seen.rotations["rotate90"]),
        ("grey", lambda seen: seen.take(np.array([0])).grey[0]),
        ("peers", lambda seen: next(iter(seen.peers))),
        ("referee_features", lambda seen: float(seen.referee_features)),
    ],
)
def test_a_field_that_is_not_declared_says_so_though_others_asked_for_it(field, read):
    assert getattr(META.sets[0], field) is not None
    with pytest.raises(UnusableInput, match=rf"^{field} is not in needs: add needs = .*'{field}'\)$"):
        Reads(read).fit(META).predict(META.sets[:1])


@pytest.mark.parametrize(
    ("told", "expected"), [([], ("moments",)), ([{"name": "lite0"}], ("moments", "referee"))]
)
def test_what_is_wanted_is_asked_for_where_the_competition_has_it(built, told, expected):
    competition = with_fields(built, settings={**built.settings, "referees": told})
    assert asked([Reads(), Direct(confscore)], competition) == expected
