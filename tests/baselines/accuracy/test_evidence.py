"""What gated reads from a set: its evidence, direct estimates and signs by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit, softmax
from scipy.stats import entropy, skew

from baselines import BASELINES
from baselines.accuracy.cot import cott_threshold, right_of_class
from baselines.accuracy.evidence import Reader, between_classes, dimensions, skewness
from baselines.accuracy.priors import bias_corrected, em_prior, reweighted, source_prior
from baselines.contract.conformance import example_meta_train, example_observation
from starter.observing.temperature import temperature

META = example_meta_train(sets=24, n=200)
SEEN, LABELS = example_observation("seen", 50, 2.0, seed=7)
ROWS = np.arange(50)


def bare(seen):
    return replace(seen, views={})


SOURCE = META.source
LONE_SOURCE = replace(SOURCE, observation=bare(SOURCE.observation))
READERS = {"alone": Reader.of(LONE_SOURCE), "referee": Reader.of(SOURCE)}


def odds(p):
    return logit(np.clip(p, 1e-4, 1 - 1e-4))


def calibrated(source, logits):
    parameters = bias_corrected(source)
    return softmax(logits.astype(np.float64) * parameters[0] + parameters[1:], axis=1)


def adapted(p):
    pi = source_prior(SOURCE)
    return reweighted(p, pi, em_prior(p, pi))


def of_referee():
    known = SOURCE.observation
    judge = replace(SOURCE, observation=replace(known, logits=np.log(known.referee).astype(np.float32)))
    return calibrated(judge, np.log(SEEN.referee))


def test_the_classifiers_evidence():
    p = calibrated(SOURCE, SEEN.logits)
    sure, top = odds(p[ROWS, SEEN.predicted]), np.sort(SEEN.logits, axis=1)
    expected = {
        "adapted": odds(adapted(p)[ROWS, SEEN.predicted]),
        "confidence": sure,
        "mean_confidence": np.full(50, sure.mean()),
        "mean_margin": np.full(50, (top[:, -1] - top[:, -2]).mean()),
    }
    statistics = dict(zip(("variance", "entropy", "laplacian"), np.log(SEEN.image_stats).T, strict=True))
    for name, reader in READERS.items():
        images = reader.read(SEEN).images
        for column, values in expected.items():
            np.testing.assert_allclose(images[column], values, rtol=1e-5)
        assert (statistics.keys() <= images.keys()) == (name == "alone")
    for column, values in statistics.items():
        found = READERS["alone"].read(SEEN).images[column]
        np.testing.assert_allclose(found, [values.mean()] * 50, rtol=1e-5)


def test_the_referees_evidence_and_the_direct_estimates():
    r = of_referee()
    found = READERS["referee"].read(SEEN)
    for name, values in {
        "referee_confidence": r.max(axis=1),
        "referee_adapted": adapted(r)[ROWS, SEEN.predicted],
        "referee": r[ROWS, SEEN.predicted],
    }.items():
        np.testing.assert_allclose(found.images[name], odds(values), atol=1e-3)
        np.testing.assert_allclose(found.images[f"mean_{name}"], odds(values).mean(), atol=1e-3)
    prior = em_prior(r, source_prior(SOURCE))
    expected = {
        "cott": BASELINES["cott"].fit(META).predict([SEEN])[0],
        "agreement": (r.argmax(axis=1) == SEEN.predicted).mean(),
        "agreement_adapted": (adapted(r).argmax(axis=1) == SEEN.predicted).mean(),
        "cott_referee": right_of_class(prior, SEEN, temperature(SOURCE), cott_threshold(SOURCE)).sum(),
    }
    assert found.estimates == pytest.approx(expected, abs=1e-3)
    assert READERS["alone"].read(bare(SEEN)).estimates == pytest.approx({"cott": expected["cott"]}, abs=1e-3)


def test_the_signs_of_both_networks():
    signs = READERS["referee"].read(SEEN).signs
    for name, p in (("classifier", calibrated(SOURCE, SEEN.logits)), ("referee", of_referee())):
        prior = em_prior(p, source_prior(SOURCE))
        cott = right_of_class(prior, SEEN, temperature(SOURCE), cott_threshold(SOURCE)).sum()
        expected = [entropy(p.mean(axis=0)) / np.log(10), logit(cott), logit(p.max(axis=1).mean())]
        found = [signs[f"{name}_{sign}"] for sign in ("class_entropy", "cott", "confidence")]
        np.testing.assert_allclose(found, expected, atol=1e-3)
    agreement = (of_referee().argmax(axis=1) == SEEN.predicted).mean()
    assert signs["agreement"] == pytest.approx(logit(agreement))
    assert READERS["alone"].read(SEEN).signs.keys() < signs.keys()


@given(st.integers(0, 10_000), st.floats(0.01, 100))
def test_spread_tells_few_classes_from_logits_that_shrink_or_move(seed, factor):
    rng = np.random.default_rng(seed)
    logits, labels = 3 * rng.normal(size=(400, 10)), rng.integers(10, size=400)
    logits[np.arange(400), labels] += 20
    moved = factor * logits + 5 * rng.normal(size=10)
    centred = logits - logits.mean(axis=1, keepdims=True)
    values = np.linalg.eigvalsh(np.cov(centred.T))
    assert dimensions(moved) == pytest.approx(np.log10(values.sum() ** 2 / (values**2).sum()))
    assert skewness(moved) == pytest.approx(skew(centred).mean())
    few = logits[labels < 3]
    assert dimensions(few) < dimensions(logits) - 0.1
    assert skewness(few) < skewness(logits) - 0.3


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=2, max_size=12))
def test_the_share_of_variance_between_classes_is_that_of_single_images(counts):
    """Eta squared by hand, from a 0 or 1 for each image."""
    classes = [np.repeat([1.0, 0.0], each) for each in counts]
    images = np.concatenate(classes)
    means = np.concatenate([np.full(len(each), each.mean()) for each in classes])
    expected = means.var() / images.var() if 0 < images.mean() < 1 else 0.0
    right, prior = (np.array([f(each) for each in classes]) / len(images) for f in (np.sum, len))
    assert between_classes(right, prior) == pytest.approx(expected, abs=1e-9)


def test_it_tells_few_classes_from_shift():
    whole, labels = example_observation("few", 2000, 3.0, seed=9)
    shifted, _ = example_observation("shifted", 2000, 0.8, seed=9)
    few = whole.take(np.flatnonzero(labels < 3))
    found = [READERS["alone"].read(each).signs["between_classes"] for each in (whole, shifted, few)]
    assert max(found[:2]) < 0.2 < 0.6 < found[2]


def test_readings_are_finite_where_everything_is_certain():
    sure = np.full((3, 10), -500, np.float32)
    sure[:, 4] = 500
    views = {"referee:other": np.roll(sure, 1, axis=1)}
    found = READERS["referee"].read(replace(SEEN.take(np.arange(3)), logits=sure, views=views))
    for values in (found.images, found.estimates, found.signs):
        assert np.isfinite(list(values.values())).all()
