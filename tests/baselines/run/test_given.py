"""What may be given for a method, and under which names."""

import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from baselines import BASELINES, Estimator
from baselines.run.given import methods_given
from baselines.run.tabular import Tabular
from submission import UnusableInput


class Mine(Estimator):
    def __init__(self, margin=0.1):
        self.margin = margin

    def _predict(self, observation):
        return self.margin


class Lost(Mine):
    def __init__(self, margin=0.1):
        self.kept = margin


def given(methods):
    return methods_given(methods, BASELINES, "accuracy")


def test_settings_stand_side_by_side():
    assert list(given(["fd", Mine(), Mine(margin=0.05), Ridge(alpha=2), Ridge()])) == [
        "fd",
        "Mine",
        "Mine(margin=0.05)",
        "Ridge(alpha=2)",
        "Ridge",
    ]
    assert list(given({"one": Mine(), "two": "fd"})) == ["one", "two"]
    assert isinstance(given(Ridge())["Ridge"], Tabular)
    assert given("fd")["fd"] is not BASELINES["fd"]


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ([Mine(), Mine()], 'two methods are called Mine: give names, as in {"one": ...}'),
        ([Mine], "Mine is a class: give an instance, Mine()"),
        (Mine, "Mine is a class: give an instance, Mine()"),
        (3, "int is not a method: give a name, an unseen.Estimator, or a regressor"),
        ([], "no method is given: name one or more"),
        (Lost(2), "Lost: 'Lost' object has no attribute 'margin': store each argument of __init__ under its"),
        (
            [StandardScaler()],
            "StandardScaler is not a method: give a name, an unseen.Estimator, or a regressor",
        ),
        ([3], "int is not a method"),
        (["atk"], "there is no method 'atk': did you mean atc?"),
        ({"fd": Mine()}, "fd is a method of the kit: give yours another name"),
        ({"../x": Mine()}, "'../x' cannot name a method"),
    ],
)
def test_mistakes_are_named(methods, message):
    with pytest.raises(UnusableInput) as error:
        given(methods)
    assert str(error.value).startswith(message)
