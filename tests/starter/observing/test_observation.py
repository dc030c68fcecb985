"""The types that methods see, what they refuse and derive; temperature scaling against a grid and known sharpness."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from observations import seen, source_of
from scipy.special import log_softmax, softmax

from starter.observing.observation import NEEDS, MetaTrain, Moments, Observation, ScoredMix, Source, once
from starter.observing.temperature import softmax as scaled
from starter.observing.temperature import temperature

LOGITS = np.array([[2.0, 0.0, -1.0], [0.0, 3.0, 0.0]], np.float32)


def observation(**changes):
    return Observation(**{"set_name": "s", "classifier": "c", "logits": LOGITS, **changes})


def test_probabilities_and_predictions():
    np.testing.assert_allclose(observation().probabilities, softmax(LOGITS, axis=1), rtol=1e-6)
    assert observation().predicted.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"logits": np.zeros((0, 3), np.float32)}, "logits must be"),
        ({"logits": np.zeros(3, np.float32)}, r"^set 's' seen by 'c': logits must be .*\(n, k\)"),
        ({"logits": torch.zeros(2, 3)}, r"NumPy array"),
        ({"logits": np.array([[np.nan, 0.0]], np.float32)}, "logits holds NaN"),
        ({"features": np.zeros((3, 4), np.float16)}, "features must be"),
        ({"image_stats": np.zeros((2, 2), np.float32)}, "image_stats must be"),
        ({"rotation": np.zeros((2, 1), np.float32)}, "rotation must be"),
        ({"views": {"grey": np.zeros((2, 4), np.float32)}}, "grey must be"),
        ({"referee_features": np.zeros((3, 4), np.float16)}, "referee_features must be"),
    ],
)
def test_refuses_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        observation(**changes)


def test_views_by_what_methods_call_them():
    rotated = {name: LOGITS + i for i, name in enumerate(("rotate90", "rotate180", "rotate270"))}
    views = {**rotated, "grey": LOGITS - 1, "peer:b": LOGITS * 2, "peer:d:e": LOGITS * 3}
    everything = observation(views=views)
    assert everything.rotations == rotated
    assert everything.grey is views["grey"]
    assert everything.peers == {"b": views["peer:b"], "d:e": views["peer:d:e"]}
    assert [getattr(observation(), need) for need in NEEDS] == [None] * len(NEEDS)


def test_referees_are_averaged_as_probabilities():
    views = {"referee:a": LOGITS * 2, "referee:b": -LOGITS, "peer:c": LOGITS * 9}
    seen = observation(views=views)
    expected = (softmax(LOGITS * 2.0, axis=1) + softmax(-LOGITS * 1.0, axis=1)) / 2
    assert seen.referee.dtype == np.float64
    np.testing.assert_allclose(seen.referee, expected, rtol=1e-6)
    assert seen.peers.keys() == {"c"}


@pytest.mark.parametrize("n", [50, 2])
def test_moments_have_a_factor(n):
    covariance = np.cov(np.random.default_rng(0).normal(size=(3, n)))
    factor = Moments(np.zeros(3), covariance, n).factor
    np.testing.assert_allclose(factor @ factor.T, covariance, atol=1e-12)


def source(labels=(0, 2), **changes):
    return Source(observation(), np.array(labels), observation(), np.zeros((3, 4)), np.zeros(3), **changes)


@pytest.mark.parametrize("labels", [[0], [0, 3], [-1, 0]])
def test_source_refuses_labels_that_do_not_fit(labels):
    with pytest.raises(ValueError, match="labels"):
        source(labels)


@pytest.mark.parametrize(
    ("sets", "targets", "message"),
    [(0, [], "as many targets"), (2, [0.5], "as many targets"), (1, [1.5], "fractions")],
)
def test_meta_train_refuses_what_does_not_fit(sets, targets, message):
    truth = [np.ones(2, bool)] * sets
    with pytest.raises(ValueError, match=message):
        MetaTrain(source(), [observation()] * sets, np.array(targets), truth, [frozenset()] * sets)


@pytest.mark.parametrize("scores", [np.zeros(3), np.zeros((2, 1)), np.array([0.0, np.inf])])
def test_scores_must_fit_and_be_finite(scores):
    with pytest.raises(ValueError, match="scores"):
        ScoredMix(observation(), "msp", "fpr95", scores)
    with pytest.raises(ValueError, match="scores"):
        source(scores=scores)


def test_take_picks_rows_of_every_field():
    rng, n = np.random.default_rng(0), 30
    images = rng.integers(256, size=(n, 4, 4, 3)).astype(np.uint8)
    seen = observation(
        logits=rng.random((n, 3), np.float32),
        features=rng.random((n, 5)).astype(np.float16),
        image_stats=rng.random((n, 3), np.float32),
        rotation=rng.random(n, np.float32),
        views={"grey": rng.random((n, 3), np.float32), "referee:a": rng.random((n, 3), np.float32)},
        referee_features=rng.random((n, 5)).astype(np.float16),
        moments=Moments(np.zeros(5), np.eye(5), n),
        render=images.copy,
    )
    rows = np.array([4, 4, 29])
    taken = seen.take(rows)
    for name in ("logits", "features", "image_stats", "rotation", "grey", "referee", "referee_features"):
        np.testing.assert_array_equal(getattr(taken, name), getattr(seen, name)[rows])
    np.testing.assert_array_equal(taken.images(), images[rows])
    assert taken.moments is seen.moments
    bare = observation().take(np.array([1]))
    assert bare.features is None
    with pytest.raises(ValueError, match="without its images"):
        bare.images()


MANY = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
LABELS = np.arange(40) % 3


def test_it_is_computed_once_for_a_source_and_all_that_methods_see_of_it():
    calls = []

    @once
    def accuracy(source):
        calls.append(source)
        return source.accuracy

    mine = source_of(MANY, LABELS)
    assert accuracy(mine.only(("moments",))) == accuracy(mine) == accuracy(mine.only(())) == mine.accuracy
    assert len(calls) == 1
    others = [replace(mine, labels=(LABELS + 1) % 3), replace(mine, observation=seen(-MANY))]
    assert [accuracy(each) for each in others] == [each.accuracy for each in others]
    assert len(calls) == 3


def drawn(sharpness, n=4000, k=5):
    """Logits `sharpness` times those that the labels were drawn from."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, k)) * 2
    labels = [rng.choice(k, p=p) for p in softmax(logits, axis=1)]
    return source_of(sharpness * logits, labels)


def test_temperature_is_the_best_of_a_grid():
    source = drawn(3.0, n=300)
    rows = np.arange(300)

    def loss(t):
        logits = source.observation.logits.astype(np.float64)
        return -log_softmax(logits / t, axis=1)[rows, source.labels].mean()

    found = loss(temperature(source))
    assert all(found <= loss(t) + 1e-9 for t in np.geomspace(0.05, 50, 400))


@pytest.mark.parametrize("logits", [np.eye(2), 1e4 * np.eye(2), np.zeros((2, 2))])
@pytest.mark.parametrize("labels", [[0, 1], [1, 0]])
def test_temperature_stays_positive_and_finite(logits, labels):
    t = temperature(source_of(logits, labels))
    assert 0 < t < np.inf
    np.testing.assert_allclose(scaled(logits, 1 / t).sum(axis=1), 1)
