"""Every method of the kit keeps the contract, and the suite catches methods that do not."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from slow import some_slow

from baselines import BASELINES, OOD_BASELINES, Estimator
from baselines.contract.conformance import RULES, check_method
from baselines.run.my_method import MyMethod
from oracle import ORACLES

QUICK = {
    "ora-a": {"iterations": 30, "batch_size": 100},
    "ora-b": {"iterations": 10, "batch_size": 50},
    "syp": {"iterations": 10, "batch_size": 50},
    "ora-l": {"trees": 10},
    "unseen-best": {"copies": 1},
    "projnorm": {"iterations": 2, "batch_size": 8},
}


TRAINED = ("stack", "unseen-best", "projnorm", "ora-a", "ora-b", "syp")


@pytest.mark.parametrize("name", some_slow([*BASELINES, *ORACLES], *TRAINED))
def test_the_kits_methods_conform(name):
    method = clone({**BASELINES, **ORACLES}[name]).set_params(**QUICK.get(name, {}))
    assert [check for check in check_method(method) if check.problem] == []


@pytest.mark.parametrize("name", some_slow(OOD_BASELINES, "gscore-best", "gscore-gmm-w", "gscore-gmm-kl"))
def test_the_kits_methods_of_the_ood_track_conform(name):
    assert [check for check in check_method(clone(OOD_BASELINES[name]), "ood") if check.problem] == []


def test_the_template_conforms():
    assert [check for check in check_method(MyMethod()) if check.problem] == []


class Base(Estimator):
    def _predict(self, observation):
        return 0.5


class FitGivesNothing(Base):
    def fit(self, meta):
        super().fit(meta)


class Percent(Base):
    def predict(self, observations):
        return np.full(len(observations), 50.0)


class Transductive(Base):
    def predict(self, observations):
        return np.full(len(observations), 1 / (1 + len(observations)))


class FirstImage(Base):
    def _predict(self, observation):
        return float(observation.probabilities[0, 0])


class Overwrites(Base):
    def _predict(self, observation):
        observation.logits[0] = 0
        return 0.5


class Unseeded(Base):
    def _fit(self, meta):
        self.value_ = np.random.default_rng().random()

    def _predict(self, observation):
        return self.value_


class RenamesParameter(Base):
    def __init__(self, degree=1):
        self.power = degree


class Spoils(Base):
    def _predict(self, observation):
        observation.views["grey"][0] = 0
        return 0.5


class ReadsMoreViews(Base):
    def _predict(self, observation):
        return 0.5 if observation.peers is None else float((observation.peers["other"] > 0).mean())


class FirstImageTurned(Base):
    needs = ("rotations",)

    def _predict(self, observation):
        return float(observation.rotations["rotate90"][0, 0] > 0)


class ReadsViews(Base):
    """Keeps every rule."""

    needs = ("rotations", "grey", "peers", "referee")

    def _predict(self, observation):
        seen = [observation.grey, *observation.rotations.values(), *observation.peers.values()]
        seen.append(observation.referee)
        return float(np.mean([(logits.argmax(axis=1) == observation.predicted).mean() for logits in seen]))


class ReadsMore(Base):
    def _predict(self, observation):
        return 0.5 if observation.rotation is None else float(observation.rotation.mean())


class KeepsAFunction(Base):
    def _fit(self, meta):
        self.rule_ = lambda observation: 0.5

    def _predict(self, observation):
        return self.rule_(observation)


class KeepsInPrivate(Base):
    """What is learnt stands under a name that is not saved."""

    def _fit(self, meta):
        self._mean = float(meta.targets.mean())

    def _predict(self, observation):
        return self._mean


class KeepsInFitAlone(Base):
    """What is saved stands where only a fit puts it."""

    def _fit(self, meta):
        self.mean_ = self._mean = float(meta.targets.mean())

    def _predict(self, observation):
        return self.mean_

    def _state(self):
        return {"mean_": self._mean}


@pytest.mark.parametrize(
    ("method", "rule"),
    [
        (FitGivesNothing, "fit returns self"),
        (Percent, "predictions are finite fractions"),
        (Transductive, "one set at a time"),
        (FirstImage, "the order of images does not matter"),
        (Overwrites, "inputs stay unchanged"),
        (Unseeded, "same seed, same numbers"),
        (Spoils, "inputs stay unchanged"),
        (FirstImageTurned, "the order of images does not matter"),
        (ReadsMore, "needs declares every field that is read"),
        (ReadsMoreViews, "needs declares every field that is read"),
        (KeepsAFunction, "save and load change nothing"),
        (KeepsInPrivate, "save and load change nothing"),
        (KeepsInFitAlone, "save and load change nothing"),
    ],
)
def test_the_suite_catches(method, rule):
    broken = [check.rule for check in check_method(method()) if check.problem]
    assert rule in broken


def test_a_method_that_reads_views_conforms():
    assert [check for check in check_method(ReadsViews()) if check.problem] == []


def test_a_check_is_one_line():
    class Fails(Base):
        def _predict(self, observation):
            return 1 / 0

    lines = [str(check) for check in check_method(Fails())]
    assert lines[0] == "ok   fit returns self"
    assert re.fullmatch(
        r"FAIL one set at a time: ZeroDivisionError: division by zero \(test_conformance\.py:\d+\)", lines[2]
    )


def test_a_constructor_that_renames_its_argument_breaks_every_rule():
    checks = check_method(RenamesParameter())
    assert all("degree" in check.problem for check in checks)


def test_every_rule_was_broken_by_some_method_above():
    assert set(RULES) - {"clone keeps parameters and forgets the fit"} == {
        "fit returns self",
        "predictions are finite fractions",
        "one set at a time",
        "the order of images does not matter",
        "inputs stay unchanged",
        "same seed, same numbers",
        "save and load change nothing",
        "needs declares every field that is read",
    }
