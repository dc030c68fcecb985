"""unseen-best: with and without a referee, its copies of few classes, its intervals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from baselines.contract.conformance import example_meta_train, example_observation
from baselines.contract.families import blocks
from oracle import UnseenBest
from oracle.evidence import AGREES, agreement
from oracle.unseen_best import Judge, Regression
from submission import UnusableInput

META = example_meta_train(sets=24, n=200)


def bare(seen):
    return replace(seen, views={})


WITHOUT = replace(
    META,
    source=replace(META.source, observation=bare(META.source.observation)),
    sets=[bare(each) for each in META.sets],
)
METAS = {"alone": WITHOUT, "referee": META}


@pytest.fixture(scope="module")
def fitted():
    return {name: UnseenBest().fit(meta) for name, meta in METAS.items()}


@pytest.mark.parametrize("name", ["alone", "referee"])
def test_tells_easy_sets_from_hard_ones(fitted, name):
    pairs = [
        example_observation(f"t{i}", 400, skill, seed=500 + i) for i, skill in enumerate((0.5, 2.0, 3.5))
    ]
    truth = np.array([(observation.predicted == labels).mean() for observation, labels in pairs])
    predicted = fitted[name].predict([observation for observation, _ in pairs])
    assert np.abs(predicted - truth).max() < 0.1


@pytest.mark.parametrize("name", ["alone", "referee"])
def test_few_classes_are_not_taken_for_shift(fitted, name):
    observation, labels = example_observation("few", 2000, 3.0, seed=9)
    rows = np.flatnonzero(labels < 2)
    few, truth = observation.take(rows), (observation.predicted == labels)[rows].mean()
    assert fitted[name].predict([few])[0] == pytest.approx(truth, abs=0.1)


def test_a_regression_gives_the_shares_that_it_has_seen():
    rng = np.random.default_rng(0)
    evidence = rng.normal(3, 2, (4000, 2))
    chance = expit(0.8 * evidence[:, 0] - 0.5 * evidence[:, 1] + 0.3)
    found = Regression.of(evidence, rng.random(4000) < chance)
    np.testing.assert_allclose(found.weights, [0.8, -0.5], atol=0.1)
    np.testing.assert_allclose(found.probabilities(evidence), chance, atol=0.06)


@pytest.mark.parametrize(("right", "share"), [(True, 10.5 / 11), (False, 0.5 / 11)])
def test_where_all_or_none_is_right_a_regression_says_so(right, share):
    found = Regression.of(np.eye(10), np.full(10, right))
    np.testing.assert_allclose(found.probabilities(np.ones((2, 10))), share)


def test_the_estimate_is_the_median_of_three():
    def constant(p, width):
        return Regression(np.zeros(width), float(logit(p)))

    table = np.zeros((4, AGREES + 1))
    table[0, AGREES] = 1
    assert agreement(table) == 0.25
    for own, together, middle in ((0.5, 0.9, 0.5), (0.1, 0.9, 0.25), (0.95, 0.9, 0.9)):
        both = constant(together - 0.05, 11), constant(together + 0.05, 11)
        assert Judge(constant(own, 8), both).accuracy(table) == pytest.approx(middle)
    assert Judge(constant(0.7, 8)).accuracy(table[:, :8]) == pytest.approx(0.7)


def test_with_a_referee_there_are_three_regressions_and_one_without(fitted):
    alone, judge = fitted["alone"].judge_, fitted["referee"].judge_
    assert alone.both == ()
    assert [len(each.weights) for each in (alone.own, judge.own, *judge.both)] == [8, 8, 11, 11]


def test_evidence_that_was_not_observed_has_no_weight(fitted):
    assert (fitted["alone"].judge_.own.weights[4:] == 0).all()
    assert (fitted["referee"].judge_.own.weights[4:] != 0).all()


def test_a_copy_has_one_to_four_of_the_sets_classes():
    method = UnseenBest(copies=2).fit(META)
    rng = np.random.default_rng(0)
    observation, labels, correct = META.sets[20], META.labels[20], META.correct[20]
    for _ in range(20):
        copy = method._copy(observation, correct, labels, rng)
        kept = np.unique(labels[copy.rows])
        assert 1 <= len(kept) <= 4
        np.testing.assert_array_equal(copy.rows, np.flatnonzero(np.isin(labels, kept)))
        np.testing.assert_array_equal(copy.correct, correct[copy.rows])
        np.testing.assert_array_equal(copy.table, method.evidence_.table(observation.take(copy.rows)))
    assert [len(judged) for judged in method._sets] == [3] * 24
    assert len(method._source) == 7


@pytest.mark.parametrize("meta", [META, replace(META, labels=())])
def test_without_labels_or_copies_sets_have_none(meta):
    method = UnseenBest(copies=0 if meta.labels else 3).fit(meta)
    assert [len(judged) for judged in method._sets] == [1] * 24


def test_few_sets_are_enough():
    meta = example_meta_train(sets=4)
    predicted = UnseenBest().fit(meta).predict(meta.sets[:2])
    assert ((predicted > 0) & (predicted < 1)).all()


def test_judges_of_the_intervals_have_not_seen_what_they_judge(monkeypatch):
    meta = replace(META, bases=[np.random.default_rng(i).permutation(200) for i in range(24)])
    method = UnseenBest(copies=1).fit(meta)
    taught = []

    class Recorded(Judge):
        @classmethod
        def of(cls, sets):
            taught.append({row.tobytes() for each in sets for row in each.table})
            return Judge.of(sets)

    monkeypatch.setattr(UnseenBest, "judges", Recorded)
    ends = method.predict_interval(meta.sets[:2])
    assert (ends[:, 0] < ends[:, 1]).all()
    parts = blocks(meta.families)
    assert len(taught) == len(parts)
    for seen, fold in zip(taught, parts, strict=True):
        for i in fold.test:
            for each in method._sets[i]:
                assert not any(row.tobytes() in seen for row in each.table)
        for i in fold.train:
            for each in method._sets[i]:
                known = meta.bases[i][each.rows] % 2 == 0
                assert [row.tobytes() in seen for row in each.table] == known.tolist()


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("referee:", "fitted with a referee, without which set 'train_0'"),
        ("rotate", "fitted with turned copies of the images, without which set 'train_0'"),
    ],
)
def test_a_set_without_what_was_learnt_with_is_refused(fitted, lost, message):
    seen = META.sets[0]
    views = {name: logits for name, logits in seen.views.items() if not name.startswith(lost)}
    with pytest.raises(UnusableInput, match=message):
        fitted["referee"].predict([replace(seen, views=views)])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"copies": -1}, "copies must be a whole number in 0..100, got -1"),
        ({"seed": -1}, "seed must be a whole number in"),
    ],
)
def test_refuses_parameters(parameters, message):
    with pytest.raises(UnusableInput, match=message):
        UnseenBest(**parameters).fit(META)
