"""What labels of some images tell of a set: an interval that covers, by hand, and who wins an argument."""

import numpy as np
import pytest
from scipy.stats import t

from unseen.estimation.budget import proportional_order
from unseen.estimation.by_labels import ByLabels, agresti_coull


def by_hand(right, images, level):
    """The interval for labels in groups of five, each of which stands for as many of the images."""
    groups = np.split(right, len(right) // 5)
    n, g, mean = len(right), len(groups), right.mean()
    within = np.mean([each.var(ddof=1) for each in groups])
    share = (n * min(within / right.var(ddof=1), 1) + 20) / (n + 20)
    worth, z = n / share / (1 - n / images), t.ppf((1 + level) / 2, n - g)
    centre = (mean + z**2 / (2 * worth)) / (1 + z**2 / worth)
    reach = z * (centre * (1 - centre) / (worth + z**2)) ** 0.5
    return centre - reach, centre + reach


@pytest.mark.parametrize("wrong", [(0, 0, 5, 5), (5, 0, 0, 0), (2, 3, 2, 3), (1, 0, 2, 0)])
def test_groups_of_neighbours_narrow_the_interval_as_far_as_twenty_plain_labels_allow(wrong):
    """Where each group is all right or all wrong, its labels alone would leave no doubt."""
    right = np.concatenate([np.arange(5) >= each for each in wrong])
    images = 100_000
    ranks = images // 20 * np.arange(20) + images // 40
    found = ByLabels.of(right, ranks, images, 0.9)
    assert found.accuracy == pytest.approx(right.mean(), abs=1e-4)
    assert (found.low, found.high) == pytest.approx(by_hand(right, images, 0.9), abs=1e-4)
    assert found.high - found.low > 0.2


def test_a_group_counts_by_the_images_that_it_stands_for():
    """Half of the labels lie in the last tenth of the set."""
    ranks = np.concatenate([90 * np.arange(10), 900 + 10 * np.arange(10)])
    right = ranks < 900
    assert ByLabels.of(right, ranks, 1000, 0.9).accuracy == pytest.approx(0.855 + 0.0005)


def test_the_interval_is_agresti_and_coulls():
    """Adding two successes and two failures, as they round z at 95 %."""
    centre, reach = agresti_coull(0.9, 10, 2.0)
    assert centre == pytest.approx(11 / 14)
    assert reach == pytest.approx(2 * (11 / 14 * 3 / 14 / 14) ** 0.5)


@pytest.mark.parametrize("accuracy", [0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("count", [20, 50])
@pytest.mark.slow
def test_intervals_cover(accuracy, count):
    """At 90 % nine of ten draws do, at any accuracy, and none has a width of zero."""
    rng, rows = np.random.default_rng(1), np.arange(400)
    right = np.zeros(400, bool)
    right[np.argsort(rng.logistic(size=400) - rows / 100)[: round(400 * accuracy)]] = True
    drawn = [proportional_order(rows, np.random.default_rng(seed))[:count] for seed in range(200)]
    ends = np.array([(each.low, each.high) for each in (ByLabels.of(right[x], x, 400, 0.9) for x in drawn)])
    assert ((ends[:, 0] <= accuracy) & (accuracy <= ends[:, 1])).mean() >= 0.86
    assert np.ptp(ends, axis=1).min() > 0.01


def test_labels_win_where_they_contradict_the_estimate():
    by_labels = ByLabels(0.6, 0.5, 0.7, 0.06)
    assert by_labels.shrunk(0.62, 0.02) == pytest.approx(0.618)
    assert 0.6 < by_labels.shrunk(0.95, 0.02) < by_labels.shrunk(0.75, 0.02) < 0.7
