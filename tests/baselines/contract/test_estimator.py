"""Direct and Regressed, and what the public methods of an Estimator refuse."""

import dataclasses

import numpy as np
import pytest
from rules import with_fields
from sklearn.base import clone

from baselines import Direct, Estimator, Regressed
from baselines.accuracy.confscore import confscore
from baselines.accuracy.fd import fd
from baselines.contract.conformance import example_meta_train, example_observation
from baselines.contract.estimator import asked
from baselines.contract.regressors import REGRESSORS
from submission.errors import UnusableInput

META = example_meta_train()


class Fixed(Estimator):
    def __init__(self, value=0.5):
        self.value = value

    def _predict(self, observation):
        return self.value


def test_direct_is_the_indicator_itself():
    target = example_observation("t", 30, 2.0, seed=7)[0]
    assert Direct(confscore).fit(META).predict([target])[0] == confscore(target, META.source)


def test_regressed_is_the_least_squares_line():
    values = [confscore(observation, META.source) for observation in META.sets]
    slope, intercept = np.polyfit(values, META.targets, 1)
    predicted = Regressed(confscore).fit(META).predict(META.sets)
    np.testing.assert_allclose(predicted, np.clip(slope * np.array(values) + intercept, 0, 1), atol=1e-12)


@pytest.mark.parametrize("name", REGRESSORS)
def test_the_regressor_is_chosen_by_name(name):
    values = np.array([[confscore(observation, META.source)] for observation in META.sets])
    expected = REGRESSORS[name]().fit(values, META.targets).predict(values)
    predicted = Regressed(confscore, regressor=name).fit(META).predict(META.sets)
    np.testing.assert_allclose(predicted, np.clip(expected, 0, 1), atol=1e-12)


def test_an_unknown_regressor_is_refused_when_it_is_fitted():
    with pytest.raises(UnusableInput, match="no regressor 'lasso'; choose from linear, ridge, lightgbm"):
        Regressed(confscore, regressor="lasso").fit(META)


def test_predictions_are_clipped():
    assert Fixed(1.7).fit(META).predict(META.sets[:2]).tolist() == [1.0, 1.0]
    assert Fixed(-0.2).fit(META).predict(META.sets[:1]).tolist() == [0.0]


def test_no_sets_no_predictions():
    assert Fixed().fit(META).predict([]).shape == (0,)


def test_refuses_to_predict_before_fit():
    with pytest.raises(ValueError, match="Fixed: call fit before predict"):
        Fixed().predict(META.sets)


def test_a_prediction_that_is_no_number_names_the_set():
    with pytest.raises(ValueError, match=r"Fixed predicts nan for set 'train_0'"):
        Fixed(float("nan")).fit(META).predict(META.sets)


def test_a_missing_need_is_named():
    bare = dataclasses.replace(META.sets[0], moments=None)
    method = Regressed(fd, needs=("moments",)).fit(META)
    with pytest.raises(
        ValueError, match=r"Regressed needs `moments`, which set 'train_0' was observed without"
    ):
        method.predict([bare])


def test_an_indicator_that_is_no_number_names_the_set():
    with pytest.raises(ValueError, match="an indicator of Regressed is not finite on set 'train_0'"):
        Regressed(lambda target, source: float("inf")).fit(META)


def test_clone_keeps_indicator_needs_and_regressor():
    copy = clone(Regressed(fd, needs=("moments",), regressor="ridge"))
    assert copy.needs == ("moments",)
    assert copy.regressor == "ridge"
    assert copy.indicator is fd


class Wanting(Fixed):
    needs = ("moments",)
    wants = ("referee",)


@pytest.mark.parametrize(
    ("told", "expected"), [([], ("moments",)), ([{"name": "lite0"}], ("moments", "referee"))]
)
def test_what_is_wanted_is_asked_for_where_the_competition_has_it(built, told, expected):
    competition = with_fields(built, settings={**built.settings, "referees": told})
    assert asked([Wanting(), Direct(confscore)], competition) == expected
