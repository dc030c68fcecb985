"""Intervals: their definition in a naive loop, their coverage of families left out, and what they cost."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest

from baselines import Constant, Direct, Estimator, Regressed
from baselines.accuracy.confscore import confscore
from baselines.contract.conformance import example_meta_train, example_observation
from baselines.contract.families import folds, half, subset
from starter.observing.observation import MetaTrain, Observation

META = example_meta_train()
TARGETS = [example_observation(f"t{i}", 40, 0.8 * i, seed=50 + i)[0] for i in range(5)]


class Slow(Estimator):
    """`Regressed(confscore)` by the general way, which fits it anew on subsets of the meta-train sets."""

    fits = 0

    def _fit(self, meta):
        type(self).fits += 1
        self.inner_ = Regressed(confscore).fit(meta)

    def _predict(self, observation):
        return self.inner_.predict([observation])[0]


def naive_factor(meta, target):
    """How many times a usual distance the target is from the nearest meta-train set, at least 1."""

    def told(observation):
        outputs = [np.exp(row) / np.exp(row).sum() for row in observation.logits.astype(float)]
        return np.mean(outputs, axis=0), np.array([np.mean([row.max() for row in outputs])])

    factor = 1.0
    for which in (0, 1):
        known = [told(observation)[which] for observation in meta.sets]
        pairs = [(i, fold.train) for fold in folds(meta.families) for i in fold.test]
        apart = [min(np.linalg.norm(known[i] - known[j]) for j in train) for i, train in pairs]
        usual = np.quantile(apart, 0.9)
        nearest = min(np.linalg.norm(told(target)[which] - each) for each in known)
        factor = max(factor, nearest / usual)
    return factor


def naive_interval(method, meta, target, level):
    """CV+ as its definition reads: candidates of every residual, each fold's share of the weight the same."""
    lows, highs, weights, factor = [], [], [], naive_factor(meta, target)
    for fold in folds(meta.families):
        model = type(method)(confscore).fit(subset(meta, fold.train))
        centre = model.predict([target])[0]
        for i in fold.test:
            residual = factor * abs(model.predict([meta.sets[i]])[0] - meta.targets[i])
            lows.append(centre - residual)
            highs.append(centre + residual)
            weights.append(1 / len(fold.test))

    def at(values, sign):
        ordered = sorted(zip(values, weights, strict=True), key=lambda pair: sign * pair[0])
        needed = level * (1 + 1 / len(values)) * sum(weights)
        for k, (value, _) in enumerate(ordered):
            if sum(weight for _, weight in ordered[: k + 1]) >= needed - 1e-9:
                return value
        return sign

    point = method.predict([target])[0]
    return np.clip([min(at(lows, -1), point), max(at(highs, 1), point)], 0, 1)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_is_cv_plus_over_families(level):
    method = Regressed(confscore).fit(META)
    far = dataclasses.replace(TARGETS[0], logits=10 * TARGETS[0].logits)
    assert naive_factor(META, far) > 1
    expected = [naive_interval(method, META, target, level) for target in (*TARGETS, far)]
    np.testing.assert_allclose(method.predict_interval([*TARGETS, far], level), expected, atol=1e-9)


def test_a_method_of_ones_own_gets_the_same_by_fitting_it_anew():
    Slow.fits = 0
    slow, fast = Slow().fit(META), Regressed(confscore).fit(META)
    assert Slow.fits == 1
    np.testing.assert_allclose(slow.predict_interval(TARGETS), fast.predict_interval(TARGETS), atol=1e-12)
    assert Slow.fits == 1 + len(folds(META.families))
    slow.predict_interval(TARGETS, level=0.5)
    assert Slow.fits == 1 + len(folds(META.families))


class Remembering(Estimator):
    """A method that learns from single images, and keeps which it learned from and which it was asked of."""

    learns_images = True
    learned: ClassVar[list[set[int]]] = []
    asked: ClassVar[list[int]] = []

    def _fit(self, meta):
        self.learned.append(set(np.concatenate(meta.bases).tolist()))

    def _predict(self, observation):
        self.asked.append(len(observation))
        return 0.5


def test_a_method_that_learns_from_images_is_calibrated_on_other_images():
    rng = np.random.default_rng(0)
    n = len(META.sets[0])
    meta = dataclasses.replace(META, bases=[rng.choice(2 * n, n, replace=False) for _ in META.sets])
    learned, tested = half(meta, 0), half(meta, 1)
    Remembering().fit(meta).predict_interval(TARGETS[:1])
    assert set().union(*Remembering.learned[1:]) == set(np.concatenate(learned.bases).tolist())
    sizes = [len(tested.sets[i]) for fold in folds(META.families) for i in fold.test]
    assert Remembering.asked[1 : 1 + len(sizes)] == sizes, "after the set itself"


def test_intervals_of_an_indicator_measure_no_set_again():
    measured = []

    def counted(target, source):
        measured.append(target.set_name)
        return confscore(target, source)

    Regressed(counted).fit(META).predict_interval(TARGETS)
    assert measured == [s.set_name for s in META.sets] + 2 * [t.set_name for t in TARGETS]


def test_each_set_has_its_interval_by_itself_and_no_set_has_none():
    method = Direct(confscore).fit(META)
    together = method.predict_interval(TARGETS)
    alone = np.concatenate([method.predict_interval([target]) for target in TARGETS])
    assert (together == alone).all()
    assert method.predict_interval([]).shape == (0, 2)


def test_more_than_the_residuals_can_tell_is_everything():
    few = subset(META, np.arange(4))
    assert Constant().fit(few).predict_interval(TARGETS[:1], level=0.99).tolist() == [[0.0, 1.0]]


def test_fitting_again_forgets_the_residuals():
    method = Constant().fit(META)
    before = method.predict_interval(TARGETS[:1])
    other = dataclasses.replace(META, targets=np.full(len(META.sets), 0.25))
    assert method.fit(other).predict_interval(TARGETS[:1]).tolist() == [[0.25, 0.25]]
    assert before[0, 0] < before[0, 1]


@pytest.mark.parametrize("level", [0, 1, 90, float("nan")])
def test_refuses_a_level_that_is_no_share(level):
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1"):
        Constant().fit(META).predict_interval(TARGETS, level)


def shifted_meta_train(seed, families=8, sets=80):
    """Sets of one to three operations, each of which moves confidence and, on top of that, accuracy."""
    rng = np.random.default_rng(seed)
    names = [f"operation_{i}" for i in range(families)]
    bias = dict(zip(names, rng.normal(0, 0.04, families), strict=True))
    observations, targets, operations = [], [], []
    for i in range(sets):
        chosen = rng.choice(names, rng.integers(1, 4), replace=False)
        confidence = rng.uniform(0.4, 0.95)
        margin = np.log(confidence / (1 - confidence))
        logits = np.array([[margin, 0.0]] * 2, np.float32)
        observations.append(Observation(f"train_{i}", "c", logits))
        accuracy = 0.8 * confidence + 0.1 + sum(bias[name] for name in chosen) + rng.normal(0, 0.02)
        targets.append(np.clip(accuracy, 0, 1))
        operations.append(frozenset(map(str, chosen)))
    right = [np.ones(2, bool)] * sets
    return MetaTrain(META.source, observations, np.array(targets), right, operations)


@pytest.mark.slow
def test_ninety_percent_intervals_cover_80_to_97_percent_of_families_left_out():
    covered = []
    for seed in range(4):
        meta = shifted_meta_train(seed)
        for fold in folds(meta.families):
            method = Regressed(confscore).fit(subset(meta, fold.train))
            low, high = method.predict_interval(subset(meta, fold.test).sets).T
            truth = meta.targets[fold.test]
            covered.append(((low <= truth) & (truth <= high)).mean())
    assert 0.80 <= np.mean(covered) <= 0.97
