"""Every method of the kit keeps the contract, and the suite catches methods that do not."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from slow import some_slow

from baselines import BASELINES, OOD_BASELINES, Estimator
from baselines.contract.conformance import check_method
from oracle import ORACLES

QUICK = {
    "ora-a": {"iterations": 30, "batch_size": 100},
    "ora-b": {"iterations": 10, "batch_size": 50},
    "syp": {"iterations": 10, "batch_size": 50},
    "ora-l": {"trees": 10},
}
TRAINED = ("gated", "ora-a", "ora-b", "syp")


def broken(method, track="accuracy"):
    return [check.rule for check in check_method(method, track) if check.problem]


@pytest.mark.parametrize("name", some_slow([*BASELINES, *ORACLES], *TRAINED))
def test_the_kits_methods_conform(name):
    assert broken(clone({**BASELINES, **ORACLES}[name]).set_params(**QUICK.get(name, {}))) == []


@pytest.mark.parametrize("name", some_slow(OOD_BASELINES, "gscore-best", "gscore-gmm-w", "gscore-gmm-kl"))
def test_the_kits_methods_of_the_ood_track_conform(name):
    assert broken(clone(OOD_BASELINES[name]), "ood") == []


class Base(Estimator):
    def _predict(self, observation):
        return 0.5


def own(predict=Base._predict, fit=Base._fit):
    """A class of methods with these functions that reads grey views."""
    parts = {"__module__": __name__, "needs": ("grey",), "_predict": predict, "_fit": fit}
    return type("Own", (Base,), parts)


def remembering(self, _):
    self.seen = 0.8 * getattr(self, "seen", 1.0)
    return self.seen


def learning_chance(self, _):
    self.value_ = np.random.default_rng().random()


class KeepsInPrivate(Base):
    """What is learnt stands under a name that is not saved."""

    def _fit(self, meta):
        self._mean = float(meta.targets.mean())

    def _predict(self, observation):
        return self._mean


class RenamesParameter(Base):
    def __init__(self, degree=1):
        self.power = degree


class GoesOn(Base):
    """Keeps every rule if each fit is of a fresh clone: a second fit of one goes on from the first."""

    def _fit(self, meta):
        self.fits_ = getattr(self, "fits_", 0) + 1

    def _predict(self, observation):
        return 0.1 * self.fits_


class ReadsViews(Base):
    needs = ("rotations", "grey", "peers", "referee")

    def _predict(self, observation):
        seen = [observation.grey, *observation.rotations.values(), *observation.peers.values()]
        seen.append(observation.referee)
        return float(np.mean([(logits.argmax(axis=1) == observation.predicted).mean() for logits in seen]))


@pytest.mark.parametrize(
    ("method", "rule"),
    [
        (own(lambda _, seen: 50.0), "fit and predict give finite fractions"),
        (own(remembering), "one set at a time"),
        (own(lambda _, seen: np.random.default_rng().random()), "the same sets, the same numbers"),
        (own(lambda _, seen: float(seen.probabilities[0, 0])), "the order of images does not matter"),
        (own(lambda _, seen: float(seen.grey[0, 0] > 0)), "the order of images does not matter"),
        (own(lambda _, seen: seen.views["grey"].fill(0) or 0.5), "inputs stay unchanged"),
        (own(fit=lambda _, meta: meta.targets.fill(0.5)), "inputs stay unchanged"),
        (
            own(fit=lambda _, meta: next(meta.source.classifier.network.parameters()).data.add_(1)),
            "inputs stay unchanged",
        ),
        (own(lambda self, _: self.value_, learning_chance), "same seed, same numbers"),
        (own(fit=lambda self, _: setattr(self, "rule_", lambda seen: 0.5)), "save and load change nothing"),
    ],
)
def test_the_suite_catches(method, rule):
    assert rule in broken(method())


@pytest.mark.parametrize("method", [ReadsViews(), GoesOn()])
def test_no_more_than_the_rules_is_asked_and_every_fit_is_of_a_fresh_clone(method):
    assert broken(method) == []
    assert vars(method) == {}


def test_a_check_is_one_line():
    line = str(next(check_method(own(lambda _, seen: 1 / 0)())))
    assert re.fullmatch(r"FAIL .*: ZeroDivisionError: division by zero \(test_conformance\.py:\d+\)", line)


def test_what_is_not_saved_is_told_with_the_name_that_is():
    *_, saved = check_method(KeepsInPrivate())
    assert saved.rule == "save and load change nothing"
    assert saved.problem == "`save` writes attributes that end in _, and self._mean does not: name it _mean_"


def test_a_constructor_that_renames_its_argument_breaks_every_rule():
    assert all("degree" in check.problem for check in check_method(RenamesParameter()))
