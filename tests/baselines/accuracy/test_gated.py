"""gated: its regressions, its copies of few classes, what left-out operations teach it, its intervals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from baselines.accuracy.evidence import Reading
from baselines.accuracy.gated import (
    BOTH,
    IMAGES,
    Examples,
    Gated,
    Regression,
    estimates,
    fit_regressions,
    logistic,
)
from baselines.contract.conformance import example_meta_train, example_observation

META = example_meta_train(sets=24, n=200)


def bare(seen):
    return replace(seen, views={})


LONE_SOURCE = replace(META.source, observation=bare(META.source.observation))
ALONE = replace(META, source=LONE_SOURCE, sets=[bare(each) for each in META.sets])
METAS = {"alone": ALONE, "referee": META}


@pytest.fixture(scope="module")
def fitted():
    return {name: Gated().fit(meta) for name, meta in METAS.items()}


@pytest.mark.parametrize("name", METAS)
def test_tells_easy_sets_from_hard_ones_and_few_classes_from_shift(fitted, name):
    pairs = [example_observation(f"t{i}", 400, 0.5 + 1.5 * i, seed=500 + i) for i in range(3)]
    whole, labels = example_observation("few", 2000, 3.0, seed=9)
    rows = np.flatnonzero(labels < 2)
    pairs.append((whole.take(rows), labels[rows]))
    truth = np.array([(observation.predicted == labels).mean() for observation, labels in pairs])
    predicted = fitted[name].predict([observation for observation, _ in pairs])
    assert np.abs(predicted - truth).max() < 0.12


def test_a_regression_gives_the_chances_that_it_has_seen():
    rng = np.random.default_rng(0)
    rows = rng.normal(3, 2, (4000, 2))
    chance = expit(0.8 * rows[:, 0] - 0.5 * rows[:, 1] + 0.3)
    found = logistic(rows, rng.random(4000) < chance)
    np.testing.assert_allclose(found[1:], [0.8, -0.5], atol=0.1)
    np.testing.assert_allclose(expit(rows @ found[1:] + found[0]), chance, atol=0.06)
    for right in (True, False):  # never certain, however many images are alike
        found = logistic(np.eye(10), np.full(10, right))
        assert 0.5 < abs(expit(found[0] + found[1:].mean()) - (not right)) < 1


def test_a_lone_regression_passes_over_the_sets_that_it_misses_most(fitted):
    seen = [example_observation(f"s{i}", 200, 2.0, seed=i) for i in range(40)]
    readings = [fitted["alone"].reader_.read(bare(each)) for each, _ in seen]
    right = [each.predicted == labels for each, labels in seen]
    wrong = [*right[:2], np.zeros(200, bool), *right[3:]]
    models = [fit_regressions(Examples(readings, each, np.arange(40))) for each in (right, wrong)]
    of_right, of_wrong = ([each["classifier"].accuracy(reading) for reading in readings] for each in models)
    np.testing.assert_allclose(of_wrong, of_right, atol=0.03)


def test_all_estimates_are_the_direct_ones_and_those_of_the_regressions():
    def constant(p):
        return Regression(("confidence",), np.array([logit(p), 0.0]))

    images = {"confidence": np.array([0.5, 3.0])}
    alone = Reading(images, {"cott": 0.7}, {})
    assert estimates({"classifier": constant(0.4)}, alone) == pytest.approx({"cott": 0.7, "classifier": 0.4})
    direct = {"cott": 0.7, "agreement": 0.3, "agreement_adapted": 0.25, "cott_referee": 0.4}
    regressions = {"classifier": constant(0.5), **dict(zip(BOTH, map(constant, (0.85, 0.95)), strict=True))}
    found = estimates(regressions, Reading(images, direct, {}))
    assert found == pytest.approx({**direct, "classifier": 0.5, "both": 0.9})


@pytest.mark.parametrize("name", METAS)
def test_intervals_are_those_of_left_out_operations(fitted, name):
    fresh = [example_observation(f"t{i}", 300, 0.5 + i / 4, seed=900 + i) for i in range(12)]
    truth = np.array([(seen.predicted == labels).mean() for seen, labels in fresh])
    low, high = fitted[name].predict_interval([seen for seen, _ in fresh], 0.9).T
    assert ((low <= truth) & (truth <= high)).mean() >= 0.7
    assert (high - low).max() < 0.6


def test_sets_without_known_labels_or_operations_are_learnt_from_too():
    unknown = replace(META, labels=(), families=[frozenset()] * len(META.sets))
    found = Gated().fit(unknown).predict(META.sets)
    assert np.abs(found - META.targets).mean() < 0.1


def test_of_large_sets_some_images_are_learnt_from():
    large = example_meta_train(sets=6, n=IMAGES + 100)
    learnt = Gated().fit(large)._examples(large)
    first = np.searchsorted(learnt.of, np.arange(6))
    assert [len(learnt.correct[row]) for row in first] == [IMAGES] * 6
    off = np.abs(learnt.accuracies[first] - large.targets)
    assert 0 < off.max() < 0.05


def test_sets_of_two_classes_have_no_copies():
    def pair(seen, labels):
        rows = np.flatnonzero(labels < 2)
        return replace(seen.take(rows), logits=seen.logits[rows, :2], views={}), labels[rows]

    known, *pairs = [pair(META.source.observation, META.source.labels), *map(pair, META.sets, META.labels)]
    sets, labels = map(list, zip(*pairs, strict=True))
    right = [each.predicted == own for each, own in pairs]
    source = replace(META.source, observation=known[0], labels=known[1])
    meta = replace(META, source=source, sets=sets, labels=labels, correct=right)
    targets = np.array([each.mean() for each in right])
    fitted = Gated().fit(replace(meta, targets=targets))
    assert len(fitted._examples(meta).readings) == 1 + len(sets)
    assert np.abs(fitted.predict(sets) - targets).mean() < 0.05
