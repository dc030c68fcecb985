"""unseen-best: the evidence of single images by hand, its regressions, its copies of few classes, its intervals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from baselines.accuracy.priors import bias_corrected, em_prior, reweighted, source_prior
from baselines.contract.conformance import example_meta_train, example_observation
from baselines.contract.families import blocks
from oracle import UnseenBest
from oracle.evidence import AGREES, OWN, Evidence, agreement
from oracle.unseen_best import Judge, chances, regression
from starter.observing.observation import ROTATED
from submission import UnusableInput

SOURCE = example_meta_train().source
SEEN, _ = example_observation("seen", 50, 2.0, seed=7)
BARE = replace(SOURCE, observation=replace(SOURCE.observation, views={}))
ROWS = np.arange(50)


def odds(p):
    return logit(np.clip(p, 1e-4, 1 - 1e-4))


def adapted(p):
    return reweighted(p, source_prior(SOURCE), em_prior(p, source_prior(SOURCE)))


def test_the_classifiers_evidence_comes_first_and_needs_no_referee():
    table = Evidence.of(SOURCE).table(SEEN)
    alone = Evidence.of(BARE).table(replace(SEEN, views={}))
    assert (table.shape, alone.shape) == ((50, AGREES + 1), (50, len(OWN)))
    np.testing.assert_array_equal(table[:, :4], alone[:, :4])
    assert (alone[:, 4:] == 0).all()


def test_confidence_under_both_priors_and_the_sets_means():
    calibration = bias_corrected(SOURCE)
    logits = SEEN.logits.astype(np.float64)
    p = softmax(logits * calibration[0] + calibration[1:], axis=1)
    confidence = odds(p[ROWS, SEEN.predicted])
    top = np.sort(logits, axis=1)
    expected = [
        odds(adapted(p)[ROWS, SEEN.predicted]),
        confidence,
        np.full(50, confidence.mean()),
        np.full(50, (top[:, -1] - top[:, -2]).mean()),
    ]
    np.testing.assert_allclose(Evidence.of(BARE).table(SEEN)[:, :4], np.column_stack(expected))


def test_what_the_classifier_says_of_turned_copies():
    calibration = bias_corrected(SOURCE)
    turned = [
        softmax(logits.astype(np.float64) * calibration[0] + calibration[1:], axis=1)
        for logits in SEEN.rotations.values()
    ]
    assert len(turned) == 3
    p = sum(turned) / 3
    table = Evidence.of(SOURCE).table(SEEN)
    for column, values in ((4, p[ROWS, SEEN.predicted]), (6, p.max(axis=1))):
        np.testing.assert_allclose(table[:, column], values)
        np.testing.assert_allclose(table[:, column + 1], values.mean())


def test_the_referee_is_calibrated_and_adapted():
    log_q = np.log(SEEN.referee)
    as_classifier = replace(SOURCE.observation, logits=np.log(SOURCE.observation.referee).astype(np.float32))
    calibration = bias_corrected(replace(SOURCE, observation=as_classifier))
    q = softmax(log_q * calibration[0] + calibration[1:], axis=1)
    table = Evidence.of(SOURCE).table(SEEN)
    agrees = adapted(q).argmax(axis=1) == SEEN.predicted
    expected = [odds(q.max(axis=1)), odds(adapted(q)[ROWS, SEEN.predicted]), odds(q[ROWS, SEEN.predicted])]
    for column, values in zip((8, 10, 12), expected, strict=True):
        np.testing.assert_allclose(table[:, column], values, atol=1e-3)
        np.testing.assert_allclose(table[:, column + 1], values.mean(), atol=1e-3)
    np.testing.assert_array_equal(table[:, AGREES], agrees)
    assert 0 < agrees.mean() < 1
    assert agreement(table) == agrees.mean()


def test_evidence_is_finite_where_everything_is_certain():
    sure = np.full((3, 10), -500, np.float32)
    sure[:, 4] = 500
    views = {name: np.roll(sure, 1, axis=1) for name in ("referee:other", *ROTATED)}
    certain = replace(SEEN.take(np.arange(3)), logits=sure, views=views)
    assert np.isfinite(Evidence.of(SOURCE).table(certain)).all()


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
def test_tells_easy_sets_from_hard_ones_and_few_classes_from_shift(fitted, name):
    pairs = [
        example_observation(f"t{i}", 400, skill, seed=500 + i) for i, skill in enumerate((0.5, 2.0, 3.5))
    ]
    whole, labels = example_observation("few", 2000, 3.0, seed=9)
    rows = np.flatnonzero(labels < 2)
    pairs.append((whole.take(rows), labels[rows]))
    truth = np.array([(observation.predicted == labels).mean() for observation, labels in pairs])
    predicted = fitted[name].predict([observation for observation, _ in pairs])
    assert np.abs(predicted - truth).max() < 0.1


def test_a_regression_gives_the_shares_that_it_has_seen():
    rng = np.random.default_rng(0)
    evidence = rng.normal(3, 2, (4000, 2))
    chance = expit(0.8 * evidence[:, 0] - 0.5 * evidence[:, 1] + 0.3)
    found = regression(evidence, rng.random(4000) < chance)
    np.testing.assert_allclose(found[1:], [0.8, -0.5], atol=0.1)
    np.testing.assert_allclose(chances(found, evidence), chance, atol=0.06)
    for right, share in ((True, 10.5 / 11), (False, 0.5 / 11)):
        found = regression(np.eye(10), np.full(10, right))
        np.testing.assert_allclose(chances(found, np.ones((2, 10))), share)


def test_the_estimate_is_the_median_of_three():
    def constant(p, width):
        return np.append(logit(p), np.zeros(width))

    table = np.zeros((4, AGREES + 1))
    table[0, AGREES] = 1
    assert agreement(table) == 0.25
    for own, together, middle in ((0.5, 0.9, 0.5), (0.1, 0.9, 0.25), (0.95, 0.9, 0.9)):
        both = constant(together - 0.05, 11), constant(together + 0.05, 11)
        assert Judge(constant(own, 8), both).accuracy(table) == pytest.approx(middle)
    assert Judge(constant(0.7, 8)).accuracy(table[:, :8]) == pytest.approx(0.7)


def test_evidence_that_was_not_observed_has_no_weight(fitted):
    alone, judge = fitted["alone"].judge_, fitted["referee"].judge_
    assert alone.both == ()
    assert [len(each) for each in (alone.own, judge.own, *judge.both)] == [9, 9, 12, 12]
    assert (alone.own[5:] == 0).all()
    assert (judge.own[5:] != 0).all()


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


@pytest.mark.parametrize(("lost", "word"), [("referee:", "referee"), ("rotate", "turned")])
def test_a_set_without_what_was_learnt_with_is_refused(fitted, lost, word):
    seen = META.sets[0]
    views = {name: logits for name, logits in seen.views.items() if not name.startswith(lost)}
    with pytest.raises(UnusableInput, match=f"{word}.*'train_0'"):
        fitted["referee"].predict([replace(seen, views=views)])
