"""Dispersion against a loop over classes and images."""

import numpy as np
import pytest
from observations import LOGITS, featured, seen, source_of

from baselines.accuracy.dispersion import SMALLEST, dispersion, scatter
from baselines.accuracy.subsamples import subsamples

ANY = source_of([[1.0, 0.0]], [0])


def scatter_by_hand(observation):
    rows = [[float(value) for value in row] for row in observation.features]
    n, d, k = len(rows), len(rows[0]), observation.logits.shape[1]
    centre = [sum(row[j] for row in rows) / n for j in range(d)]
    total = 0.0
    for c in range(k):
        members = [row for row, label in zip(rows, observation.predicted, strict=True) if label == c]
        for j in range(d if members else 0):
            mean = sum(row[j] for row in members) / len(members)
            total += len(members) * (mean - centre[j]) ** 2
    return total / (n * (k - 1))


@pytest.mark.parametrize("name", LOGITS)
@pytest.mark.parametrize("scale", [1, 1e4])
def test_dispersion_against_a_loop(name, scale):
    target = featured(LOGITS[name])
    target = seen(target.logits, features=(target.features * scale).astype(np.float16))
    expected = scatter_by_hand(target)
    assert scatter(target) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert dispersion(target, ANY) == pytest.approx(np.log(max(expected, SMALLEST)), rel=1e-9)


@pytest.mark.parametrize("name", ["uniform", "one class", "n = 1"])
def test_one_predicted_class_has_a_number(name):
    assert dispersion(featured(LOGITS[name]), ANY) == np.log(SMALLEST)


def test_two_points_a_distance_apart():
    target = seen([[1.0, 0.0], [0.0, 1.0]], features=np.array([[0.0], [4.0]], np.float16))
    assert dispersion(target, ANY) == pytest.approx(np.log(4))


def test_large_sets_are_the_mean_over_their_subsamples():
    target = featured(np.random.default_rng(0).normal(size=(270, 4)))
    parts = [np.log(scatter_by_hand(part)) for part in subsamples(target)]
    assert len(parts) == 3
    assert dispersion(target, ANY) == pytest.approx(np.mean(parts))


def test_the_size_of_the_set_hardly_matters():
    """Classes that do not differ: means of few images scatter by chance alone, and much more than of many."""
    rng = np.random.default_rng(1)
    whole = seen(rng.normal(size=(4000, 5)), features=rng.normal(size=(4000, 8)).astype(np.float16))
    part = seen(whole.logits[:100], features=whole.features[:100])
    assert np.log(scatter(part) / scatter(whole)) > 2
    assert dispersion(part, ANY) == pytest.approx(dispersion(whole, ANY), abs=0.5)
