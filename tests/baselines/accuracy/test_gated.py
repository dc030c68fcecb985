"""gated: its evidence by hand, its regressions and gate, its copies of few classes, its intervals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit, softmax
from scipy.stats import skew

from baselines import BASELINES
from baselines.accuracy.cot import cott_threshold, right_of_class
from baselines.accuracy.gated import (
    Gated,
    _between,
    _parts,
    _regression,
    _regressions,
    _spread,
    fitted_gate,
    mixed,
)
from baselines.accuracy.priors import bias_corrected, em_prior, reweighted, source_prior
from baselines.contract.conformance import example_meta_train, example_observation
from starter.observing.temperature import temperature

META = example_meta_train(sets=24, n=200)


def bare(seen):
    return replace(seen, views={})


ALONE = replace(
    META,
    source=replace(META.source, observation=bare(META.source.observation)),
    sets=[bare(each) for each in META.sets],
)
METAS = {"alone": ALONE, "referee": META}
SEEN, LABELS = example_observation("seen", 50, 2.0, seed=7)
ROWS = np.arange(50)


@pytest.fixture(scope="module")
def fitted():
    return {name: Gated().fit(meta) for name, meta in METAS.items()}


def odds(p):
    return logit(np.clip(p, 1e-4, 1 - 1e-4))


def calibrated(source, logits):
    parameters = bias_corrected(source)
    return softmax(logits.astype(np.float64) * parameters[0] + parameters[1:], axis=1)


def adapted(p):
    pi = source_prior(META.source)
    return reweighted(p, pi, em_prior(p, pi))


def test_the_classifiers_evidence(fitted):
    p = calibrated(META.source, SEEN.logits)
    sure, top = odds(p[ROWS, SEEN.predicted]), np.sort(SEEN.logits, axis=1)
    margin = np.full(50, (top[:, -1] - top[:, -2]).mean())
    expected = [odds(adapted(p)[ROWS, SEEN.predicted]), sure, np.full(50, sure.mean()), margin]
    for name, columns in (("alone", 7), ("referee", 10)):
        table = fitted[name]._read(SEEN).table
        assert table.shape == (50, columns)
        np.testing.assert_allclose(table[:, :4], np.column_stack(expected), rtol=1e-5)
    statistics = np.log(SEEN.image_stats).mean(axis=0)
    np.testing.assert_allclose(fitted["alone"]._read(SEEN).table[:, 4:], [statistics] * 50, rtol=1e-5)


def test_the_referees_evidence_and_the_direct_estimates(fitted):
    known = META.source.observation
    judge = replace(META.source, observation=replace(known, logits=np.log(known.referee).astype(np.float32)))
    r = calibrated(judge, np.log(SEEN.referee))
    found = fitted["referee"]._read(SEEN)
    for column, values in (
        (4, r.max(axis=1)),
        (6, adapted(r)[ROWS, SEEN.predicted]),
        (8, r[ROWS, SEEN.predicted]),
    ):
        np.testing.assert_allclose(found.table[:, column], odds(values), atol=1e-3)
        np.testing.assert_allclose(found.table[:, column + 1], odds(values).mean(), atol=1e-3)
    cott = BASELINES["cott"].fit(META).predict([SEEN])[0]
    agree, plain = ((each.argmax(axis=1) == SEEN.predicted).mean() for each in (adapted(r), r))
    prior = em_prior(r, source_prior(META.source))
    under = right_of_class(prior, SEEN, temperature(META.source), cott_threshold(META.source)).sum()
    np.testing.assert_allclose(found.direct, [cott, agree, plain, under], atol=1e-3)
    np.testing.assert_allclose(fitted["alone"]._read(bare(SEEN)).direct, [cott], atol=1e-3)


@given(st.integers(0, 10_000), st.floats(0.01, 100))
def test_spread_tells_few_classes_from_logits_that_shrink_or_move(seed, factor):
    rng = np.random.default_rng(seed)
    logits, labels = 3 * rng.normal(size=(400, 10)), rng.integers(10, size=400)
    logits[np.arange(400), labels] += 20
    ratio, skewness = _spread(logits)
    moved = factor * logits + 5 * rng.normal(size=10)
    np.testing.assert_allclose(_spread(moved), (ratio, skewness), rtol=1e-6)
    centred = logits - logits.mean(axis=1, keepdims=True)
    values = np.linalg.eigvalsh(np.cov(centred.T))
    assert ratio == pytest.approx(np.log10(values.sum() ** 2 / (values**2).sum()))
    assert skewness == pytest.approx(skew(centred).mean())
    few = _spread(logits[labels < 3])
    assert few[0] < ratio - 0.1
    assert few[1] < skewness - 0.3


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=2, max_size=12))
def test_the_share_of_variance_between_classes_is_that_of_single_images(counts):
    """Eta squared by hand, from a 0 or 1 for each image."""
    classes = [np.repeat([1.0, 0.0], each) for each in counts]
    images = np.concatenate(classes)
    means = np.concatenate([np.full(len(each), each.mean()) for each in classes])
    expected = means.var() / images.var() if 0 < images.mean() < 1 else 0.0
    right, prior = (np.array([f(each) for each in classes]) / len(images) for f in (np.sum, len))
    assert _between(right, prior) == pytest.approx(expected, abs=1e-9)


def test_it_tells_few_classes_from_shift():
    whole, labels = example_observation("few", 2000, 3.0, seed=9)
    shifted, _ = example_observation("shifted", 2000, 0.8, seed=9)
    prior, settings = source_prior(META.source), (temperature(META.source), cott_threshold(META.source))
    few = whole.take(np.flatnonzero(labels < 3))
    found = [_between(right_of_class(prior, each, *settings), prior) for each in (whole, shifted, few)]
    assert max(found[:2]) < 0.2 < 0.6 < found[2]


def test_readings_are_finite_where_everything_is_certain(fitted):
    sure = np.full((3, 10), -500, np.float32)
    sure[:, 4] = 500
    views = {"referee:other": np.roll(sure, 1, axis=1)}
    found = fitted["referee"]._read(replace(SEEN.take(np.arange(3)), logits=sure, views=views))
    for values in (found.table, found.direct, found.numbers):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", METAS)
def test_tells_easy_sets_from_hard_ones_and_few_classes_from_shift(fitted, name):
    pairs = [
        example_observation(f"t{i}", 400, skill, seed=500 + i) for i, skill in enumerate((0.5, 2.0, 3.5))
    ]
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
    found = _regression(rows, rng.random(4000) < chance)
    np.testing.assert_allclose(found[1:], [0.8, -0.5], atol=0.1)
    np.testing.assert_allclose(expit(rows @ found[1:] + found[0]), chance, atol=0.06)
    for right in (True, False):  # never certain, however many images are alike
        found = _regression(np.eye(10), np.full(10, right))
        assert 0.5 < abs(expit(found[0] + found[1:].mean()) - (not right)) < 1


def test_a_lone_regression_passes_over_the_sets_that_it_misses_most(fitted):
    seen = [example_observation(f"s{i}", 200, 2.0, seed=i) for i in range(40)]
    readings = [fitted["alone"]._read(bare(each)) for each, _ in seen]
    right = [each.predicted == labels for each, labels in seen]
    found = _regressions(readings, right, np.arange(40))
    wrong = [*right[:2], np.zeros(200, bool), *right[3:]]
    np.testing.assert_allclose(
        [_parts(_regressions(readings, wrong, np.arange(40)), each)[1] for each in readings],
        [_parts(found, each)[1] for each in readings],
        atol=0.03,
    )


def test_the_parts_are_cott_the_regressions_and_agreement(fitted):
    def constant(p, width):
        return np.append(logit(p), np.zeros(width))

    own = fitted["alone"]._read(bare(SEEN))._replace(direct=np.array([0.7]))
    assert _parts((constant(0.4, 7),), own) == pytest.approx([0.7, 0.4])
    reading = fitted["referee"]._read(SEEN)._replace(direct=np.array([0.7, 0.25, 0.3, 0.4]))
    models = constant(0.5, 4), constant(0.85, 7), constant(0.95, 7)
    assert _parts(models, reading) == pytest.approx([0.7, 0.5, 0.25, 0.3, 0.4, 0.9])


def test_the_gate_learns_which_estimate_to_believe():
    rng = np.random.default_rng(0)
    numbers, truth = rng.normal(size=(200, 3)), rng.random(200)
    believed = numbers[:, 1] > 0
    estimates = np.column_stack([np.where(believed, truth, 0.5), np.where(believed, 0.5, truth)])
    gate = fitted_gate(numbers, estimates - truth[:, None], 0.0, [[1], [1]])
    clear = np.abs(numbers[:, 1]) > 0.5
    assert np.abs(mixed(gate, numbers, estimates) - truth)[clear].mean() < 0.05


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_the_answer_lies_between_cott_and_the_median_of_near_or_far(seed, m):
    rng = np.random.default_rng(seed)
    known, parts = np.zeros((1, 3)), rng.random((m, 6))
    for distance, votes in ((1.9, [1, 2, 5]), (2.1, [1, 2, 3, 4, 5])):
        gate = rng.normal(size=3) * 10, known, 1.0, [[1, 2, 5], [1, 2, 3, 4, 5]]
        rows = rng.permuted(np.tile([distance, 0, 0], (m, 1)), axis=1)
        ends = np.sort([parts[:, 0], np.median(parts[:, votes], axis=1)], axis=0)
        found = mixed(gate, rows, parts)
        assert (ends[0] - 1e-12 <= found).all()
        assert (found <= ends[1] + 1e-12).all()


@pytest.mark.parametrize("name", METAS)
def test_intervals_are_those_of_left_out_operations(fitted, name):
    fresh = [example_observation(f"t{i}", 300, 0.5 + i / 4, seed=900 + i) for i in range(12)]
    truth = np.array([(seen.predicted == labels).mean() for seen, labels in fresh])
    low, high = fitted[name].predict_interval([seen for seen, _ in fresh], 0.9).T
    assert ((low <= truth) & (truth <= high)).mean() >= 0.7
    assert (high - low).max() < 0.6


def test_a_far_worse_regression_of_the_classifier_has_no_vote(fitted):
    assert [fitted[name].gate_[-1][0] for name in METAS] == [[1], [1, 2, 5]]
    rng = np.random.default_rng(0)
    heated = [replace(each, logits=each.logits * rng.choice([0.1, 1, 10])) for each in META.sets]
    assert Gated().fit(replace(META, sets=heated)).gate_[-1] == [[3, 5], [3, 5]]


def test_where_every_set_has_several_operations_all_others_vote(fitted):
    assert fitted["referee"].gate_[-1] == [[1, 2, 5], [1, 2, 3, 4, 5]]
    several = [each | {f"{min(each)} again"} for each in META.families]
    assert Gated().fit(replace(META, families=several)).gate_[-1] == [[1, 2, 3, 4, 5]] * 2


def test_sets_without_known_labels_or_operations_are_learnt_from_too():
    unknown = replace(META, labels=(), families=[frozenset()] * len(META.sets))
    found = Gated().fit(unknown).predict(META.sets)
    assert np.abs(found - META.targets).mean() < 0.1


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
    assert len(fitted._examples(meta)[0]) == 1 + len(sets)
    assert np.abs(fitted.predict(sets) - targets).mean() < 0.05
