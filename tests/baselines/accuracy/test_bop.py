"""BoP against nearest prototypes by a full distance matrix and the divergence by SciPy's entropy."""

import numpy as np
import pytest
from observations import LOGITS, featured, seen, source_of
from scipy.spatial.distance import cdist
from scipy.stats import entropy

from baselines.accuracy.bop import bop, codebook_of, spread_out
from baselines.accuracy.dispersion import subsamples

RNG = np.random.default_rng(0)
TRAINING = RNG.normal(size=(300, 5)).astype(np.float16)
SOURCE = source_of(np.zeros((300, 2)), np.zeros(300, int), features=TRAINING)
BOOK = codebook_of(SOURCE)


def bag_by_hand(features):
    nearest = cdist(features.astype(float), BOOK[0]).argmin(axis=1)
    return np.array([(nearest == i).mean() for i in range(len(BOOK[0]))])


def divergence_by_hand(observation):
    p, q = bag_by_hand(TRAINING), bag_by_hand(observation.features)
    return (entropy(p, (p + q) / 2) + entropy(q, (p + q) / 2)) / 2


@pytest.mark.parametrize("name", LOGITS)
@pytest.mark.parametrize("scale", [1, 1e4])
def test_bop_against_a_distance_matrix(name, scale):
    target = featured(LOGITS[name])
    target = seen(target.logits, features=(target.features * scale).astype(np.float16))
    value = bop(target, SOURCE)
    assert value == pytest.approx(divergence_by_hand(target), abs=1e-12)
    assert 0 <= value <= np.log(2)


def test_the_codebook_is_of_the_training_images_and_repeats():
    assert BOOK[0].shape == (80, 5)
    np.testing.assert_allclose(BOOK[1], bag_by_hand(TRAINING))
    again = source_of(np.zeros((300, 2)), np.zeros(300, int), features=TRAINING)
    np.testing.assert_array_equal(codebook_of(again)[0], BOOK[0])


def test_the_first_prototypes_are_the_farthest_from_those_before():
    rows = np.array([[0.0], [1.0], [10.0], [4.0], [10.0]])
    assert spread_out(rows, 3).tolist() == [[4.0], [10.0], [0.0]]
    assert spread_out(rows, 9).tolist() == [[4.0], [10.0], [0.0], [1.0]]


@pytest.mark.parametrize("seed", [3, 4])
def test_a_difference_between_engines_leaves_bop_as_it_is(seed):
    """Features of ten classes that one engine computes 1e-7 apart from the other: a few round otherwise.

    With K-means++ and a fixed seed the fifth of these moved by 17 % of the standard deviation between sets.
    """
    rng = np.random.default_rng(seed)
    classes = 3 * rng.random((10, 8))

    def two_engines(n, shift=0.0):
        exact = np.maximum((1 - shift) * classes[rng.integers(10, size=n)] + rng.normal(size=(n, 8)), 0)
        other = exact * (1 + 1e-7 * rng.normal(size=exact.shape))
        return [seen(np.zeros((n, 2)), features=each.astype(np.float16)) for each in (exact, other)]

    training = two_engines(1000)
    sets = [two_engines(100, 0.05 * i) for i in range(12)]
    values = []
    for engine, known in enumerate(training):
        source = source_of(np.zeros((1000, 2)), np.zeros(1000, int), features=known.features)
        values.append([bop(each[engine], source) for each in sets])
    assert np.abs(np.subtract(*values)).max() < 0.01 * np.std(values[0])


def test_fewer_distinct_images_than_prototypes_are_prototypes_themselves():
    features = np.repeat(np.eye(3), 4, axis=0).astype(np.float16)
    source = source_of(np.zeros((12, 2)), np.zeros(12, int), features=features)
    book = codebook_of(source)
    np.testing.assert_allclose(np.sort(book[0], axis=0), np.sort(np.eye(3), axis=0), atol=1e-12)
    assert bop(seen(np.zeros((6, 2)), features=features[::2]), source) == pytest.approx(0, abs=1e-12)
    only_one = seen(np.zeros((2, 2)), features=features[:2])
    mixture = entropy([1, 0, 0], [2 / 3, 1 / 6, 1 / 6]) + entropy([1 / 3] * 3, [2 / 3, 1 / 6, 1 / 6])
    assert bop(only_one, source) == pytest.approx(mixture / 2)


def test_large_sets_are_the_mean_over_their_subsamples():
    target = featured(RNG.normal(size=(250, 4)))
    expected = np.mean([divergence_by_hand(part) for part in subsamples(target)])
    assert bop(target, SOURCE) == pytest.approx(expected)
