"""The types that methods see: what they refuse, and what they derive."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from observations import seen, source_of
from scipy.special import softmax

from starter.observing.observation import (
    NEEDS,
    MetaTrain,
    Moments,
    Observation,
    ScoredMix,
    Source,
    once,
)
from starter.observing.temperature import likeliest_temperature, temperature

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
        ({"logits": np.zeros((2, 1), np.float32)}, "logits must be"),
        ({"logits": np.zeros(3, np.float32)}, r"^set 's' seen by 'c': logits must be .*\(n, k\)"),
        ({"logits": LOGITS.tolist()}, r"NumPy array"),
        ({"logits": torch.zeros(2, 3)}, r"NumPy array"),
        ({"logits": np.array([[np.nan, 0.0]], np.float32)}, "logits holds NaN"),
        ({"features": np.zeros((3, 4), np.float16)}, "features must be"),
        ({"image_stats": np.zeros((2, 2), np.float32)}, "image_stats must be"),
        ({"image_stats": np.full((2, 3), np.inf, np.float32)}, "image_stats holds NaN or infinite"),
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
    bare = observation()
    assert (bare.rotations, bare.grey, bare.peers) == (None, None, None)


def test_referees_are_averaged_as_probabilities():
    views = {"referee:a": LOGITS * 2, "referee:b": -LOGITS, "peer:c": LOGITS * 9}
    features = np.arange(8, dtype=np.float16).reshape(2, 4)
    seen = observation(views=views, referee_features=features)
    expected = (softmax(LOGITS * 2.0, axis=1) + softmax(-LOGITS * 1.0, axis=1)) / 2
    assert seen.referee.dtype == np.float64
    np.testing.assert_allclose(seen.referee, expected, rtol=1e-6)
    turned = seen.take(np.array([1, 0, 1]))
    np.testing.assert_array_equal(turned.referee, seen.referee[[1, 0, 1]])
    np.testing.assert_array_equal(turned.referee_features, features[[1, 0, 1]])
    assert seen.peers.keys() == {"c"}


def test_every_need_is_an_attribute():
    assert [getattr(observation(), need) for need in NEEDS] == [None] * len(NEEDS)


def test_images_only_where_they_were_given():
    with pytest.raises(ValueError, match="without its images"):
        observation().images()
    assert observation(render=lambda: np.ones((2, 4, 4, 3), np.uint8)).images().shape == (2, 4, 4, 3)


@pytest.mark.parametrize("n", [50, 2])
def test_moments_have_a_factor(n):
    covariance = np.cov(np.random.default_rng(0).normal(size=(3, n)))
    factor = Moments(np.zeros(3), covariance, n).factor
    np.testing.assert_allclose(factor @ factor.T, covariance, atol=1e-12)


def test_source_knows_what_is_correct():
    source = Source(observation(), np.array([0, 2]), observation(), np.zeros((3, 4)), np.zeros(3))
    assert source.correct.tolist() == [True, False]
    assert source.accuracy == 0.5


@pytest.mark.parametrize("labels", [np.array([0]), np.array([0, 3]), np.array([-1, 0])])
def test_source_refuses_labels_that_do_not_fit(labels):
    with pytest.raises(ValueError, match="labels"):
        Source(observation(), labels, observation(), np.zeros((3, 4)), np.zeros(3))


@pytest.mark.parametrize(
    ("sets", "targets", "message"),
    [(0, [], "as many targets"), (2, [0.5], "as many targets"), (1, [1.5], "fractions")],
)
def test_meta_train_refuses_what_does_not_fit(sets, targets, message):
    source = Source(observation(), np.array([0, 2]), observation(), np.zeros((3, 4)), np.zeros(3))
    with pytest.raises(ValueError, match=message):
        MetaTrain(
            source, [observation()] * sets, np.array(targets), [np.ones(2, bool)] * sets, [frozenset()] * sets
        )


def mix(**changes):
    scores = np.array([0.5, 2.0])
    return ScoredMix(
        **{"observation": Observation("m", "c", LOGITS), "detector": "msp"}
        | {"metric": "fpr95", "scores": scores, **changes}
    )


def test_a_scored_mix_has_an_observation_and_scores():
    assert mix().observation.predicted.tolist() == [0, 1]
    assert (mix().set_name, len(mix()), mix().lacking(("moments",))) == ("m", 2, "moments")
    assert (mix().detector, mix().metric, mix().scores.tolist()) == ("msp", "fpr95", [0.5, 2.0])


@pytest.mark.parametrize("scores", [np.zeros(3), np.zeros((2, 1)), np.array([0.0, np.inf])])
def test_scores_must_fit_and_be_finite(scores):
    with pytest.raises(ValueError, match="scores"):
        mix(scores=scores)
    with pytest.raises(ValueError, match="scores"):
        scored_source(scores=scores)


def scored_source(scores):
    return Source(
        observation(), np.array([0, 2]), observation(), np.zeros((3, 4)), np.zeros(3), scores=scores
    )


def test_meta_train_of_mixes_has_ood_for_correct():
    source, ood = scored_source(np.zeros(2)), [np.array([True, False])] * 2
    meta = MetaTrain(source, [mix(), mix()], np.array([0.1, 0.2]), (), [frozenset({"a"})] * 2, ood)
    assert len(meta.ood) == 2
    with pytest.raises(ValueError, match="as many targets"):
        MetaTrain(source, [mix(), mix()], np.array([0.1, 0.2]), (), [frozenset({"a"})] * 2, ood[:1])


def test_take_picks_rows_of_every_field():
    rng, n = np.random.default_rng(0), 30
    images = rng.integers(256, size=(n, 4, 4, 3)).astype(np.uint8)
    seen = observation(
        logits=rng.random((n, 3), np.float32),
        features=rng.random((n, 5)).astype(np.float16),
        image_stats=rng.random((n, 3), np.float32),
        rotation=rng.random(n, np.float32),
        views={"grey": rng.random((n, 3), np.float32)},
        moments=Moments(np.zeros(5), np.eye(5), n),
        render=images.copy,
    )
    rows = np.array([4, 4, 29])
    taken = seen.take(rows)
    for name in ("logits", "features", "image_stats", "rotation", "grey"):
        np.testing.assert_array_equal(getattr(taken, name), getattr(seen, name)[rows])
    np.testing.assert_array_equal(taken.images(), images[rows])
    assert taken.moments is seen.moments
    assert observation().take(np.array([1])).features is None


MANY = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
LABELS = np.arange(40) % 3


def counted():
    """A function of the source, and how often it was computed."""
    calls = []

    @once
    def accuracy(source):
        calls.append(source)
        return source.accuracy

    return accuracy, calls


def test_it_is_computed_once_for_a_source_and_all_that_methods_see_of_it():
    accuracy, calls = counted()
    source = source_of(MANY, LABELS)
    narrowed = source.only(("moments",))
    assert accuracy(narrowed) == accuracy(source) == accuracy(source.only(())) == source.accuracy
    assert len(calls) == 1


def test_another_source_has_another_value():
    accuracy, calls = counted()
    source = source_of(MANY, LABELS)
    others = [replace(source, labels=(LABELS + 1) % 3), replace(source, observation=seen(-MANY))]
    assert [accuracy(each) for each in (source, *others)] == [each.accuracy for each in (source, *others)]
    assert len(calls) == 3


def test_the_temperature_is_kept():
    source = source_of(MANY, LABELS)
    assert temperature(source) == likeliest_temperature(MANY, LABELS)
    assert list(source.computed.values()) == [temperature(source)]
