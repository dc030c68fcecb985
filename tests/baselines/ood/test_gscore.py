"""Parts, distances and the search for tau against plain loops, scipy and the paper's formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixes import gaussian_mixes, mix, source
from numpy.random import default_rng
from observations import seen, source_of
from scipy.integrate import quad
from scipy.stats import norm, wasserstein_distance
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from baselines.ood.gmm import Gmm
from baselines.ood.gscore import COARSE, DISTANCES, TAUS, part, search_tau
from baselines.ood.ude import Ude
from starter.observing.observation import MetaTrain
from submission.errors import UnusableInput

PARTS = np.array([[0.5], [2.0]]), np.array([[1.2], [0.7]])
IND, OOD = norm(0.5, 1.2), norm(2.0, 0.7)


def test_distances_of_two_gaussians_against_scipy():
    divergence = quad(lambda x: IND.pdf(x) * (IND.logpdf(x) - OOD.logpdf(x)), -12, 12)[0]
    assert DISTANCES["kl-from-ood"](*PARTS)[0] == pytest.approx(divergence)
    quantiles = (np.arange(100_000) + 0.5) / 100_000
    squared = np.mean((IND.ppf(quantiles) - OOD.ppf(quantiles)) ** 2)
    assert DISTANCES["wasserstein"](*PARTS)[0] ** 2 == pytest.approx(squared, rel=1e-3)
    assert DISTANCES["wasserstein"](*PARTS)[0] >= wasserstein_distance(IND.ppf(quantiles), OOD.ppf(quantiles))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=40), st.integers(0, 10**6))
def test_parts_against_a_loop(values, seed):
    scores = np.array(values, float)
    likeness = default_rng(seed).integers(0, 101, len(scores)) / 100
    means, sds, usable = part(scores, likeness)
    for i, tau in enumerate(TAUS):
        ind, ood = scores[likeness > tau], scores[likeness <= tau]
        assert usable[i] == (len(set(ind)) > 1 and len(set(ood)) > 1)
        if usable[i]:
            found = means[0, i], sds[0, i], means[1, i], sds[1, i]
            assert found == pytest.approx((ind.mean(), ind.std(), ood.mean(), ood.std()), abs=1e-9)


def test_tau_is_searched_coarsely_then_finely():
    rng = default_rng(0)
    targets = rng.random(30)
    gscores = rng.random((30, len(TAUS)))
    gscores[:, 40] = targets + 0.1 * rng.random(30)
    gscores[:, 44] = targets + 0.01 * rng.random(30)
    gscores[:, 77] = targets
    usable = np.ones_like(gscores, bool)
    columns = [column[:, None] for column in gscores.T]
    predicted = [LinearRegression().fit(each, targets).predict(each) for each in columns]
    found = np.mean((np.array(predicted) - targets) ** 2, axis=1)
    assert found[::COARSE].argmin() == 4
    assert found[30:51].argmin() == 14
    assert search_tau(gscores, usable, targets) == 44


def test_a_tau_that_leaves_a_part_empty_is_skipped():
    rng = default_rng(0)
    targets, usable = rng.random(30), np.ones((30, len(TAUS)), bool)
    gscores = targets[:, None] + rng.random((30, len(TAUS)))
    gscores[:, 50] = targets
    assert search_tau(gscores, usable, targets) == 50
    usable[3, 50] = False
    assert search_tau(gscores, usable, targets) != 50
    usable[5] = False
    assert search_tau(gscores, usable, targets) != 50
    usable[:, ::COARSE] = False
    assert search_tau(gscores, usable, targets) % COARSE


@pytest.mark.slow
@pytest.mark.parametrize("method", [Ude(), Ude("kl-from-ood"), Gmm()])
def test_the_unit_of_the_scores_does_not_matter(method):
    plain, small = gaussian_mixes(), gaussian_mixes(unit=1e-4, start=-0.1)
    expected = clone(method).fit(plain)
    found = clone(method).fit(small)
    assert found.tau_ == expected.tau_
    assert found.predict(small.sets) == pytest.approx(expected.predict(plain.sets), abs=1e-6)


@pytest.mark.parametrize("method", [Ude(), Gmm()])
def test_gscore_tells_separable_mixes_from_others(method):
    meta, test = gaussian_mixes(share=(0.5, 0.5)), gaussian_mixes(share=(0.5, 0.5), seed=1)
    errors = clone(method).fit(meta).predict(test.sets) - test.targets
    assert np.sqrt(np.mean(errors**2)) < 0.4 * test.targets.std()


def test_a_test_mix_whose_part_is_empty_takes_the_nearest_tau():
    meta = gaussian_mixes()
    method = Ude().fit(meta)
    rows = method._measure(mix(np.concatenate([np.zeros(50), [0.4, 9.0, 9.5]])))
    gscores, usable = rows[: len(TAUS)], rows[len(TAUS) :] > 0
    assert 0 < usable.sum() < len(TAUS)
    assert set(gscores) == set(gscores[usable])
    assert method._measure(mix([1.0])).tolist() == [0.0] * 2 * len(TAUS)


def test_what_cannot_be_used_is_told():
    meta = gaussian_mixes(sets=4)
    with pytest.raises(UnusableInput, match="got 'chi'"):
        Ude("chi").fit(meta)
    with pytest.raises(UnusableInput, match="are equal"):
        Ude().fit(MetaTrain(source(np.ones(9)), meta.sets, meta.targets, (), meta.families, meta.ood))
    accuracy = source_of([[1.0, 0.0]], [0])
    with pytest.raises(UnusableInput, match="OOD track"):
        Ude().fit(MetaTrain(accuracy, [seen([[1.0, 0.0]])], np.ones(1), [np.ones(1, bool)], [frozenset()]))
