"""Methods that hear a referee: agreement and FRAP against loops and grids."""

import numpy as np
import pytest
from observations import LOGITS, seen
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax

from baselines.accuracy.agreement import Agreement, agreement
from baselines.accuracy.frap import divergence, fused_scores, referee_temperature, tempered
from baselines.contract import conformance

OWN = np.array([[2.0, 1, 0], [0, 3, 1], [1, 0, 5]])
REFEREE = np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.2, 0.2, 0.6]])


def test_by_hand():
    assert agreement(seen(OWN), REFEREE) == pytest.approx(2 / 3)
    assert agreement(seen(OWN), REFEREE, "soft") == pytest.approx((0.6 + 0.4 + 0.6) / 3)


def test_without_offset_and_em_it_is_the_share_alone():
    meta = conformance.example_meta_train()
    found = Agreement(em=False, offset=False).fit(meta).predict(meta.sets[:5])
    for value, each in zip(found, meta.sets[:5], strict=True):
        same = [np.argmax(a) == np.argmax(b) for a, b in zip(each.logits, each.referee, strict=True)]
        assert value == pytest.approx(sum(same) / len(same))


RNG = np.random.default_rng(0)
P, R = (RNG.dirichlet(np.ones(5), size=30) for _ in range(2))


def test_divergence_against_scipy():
    expected = np.mean([jensenshannon(p, r) ** 2 for p, r in zip(P, R, strict=True)])
    assert divergence(P, R) == pytest.approx(expected)
    assert divergence(P, P) == 0
    assert divergence(np.eye(2), np.eye(2)[::-1]) == pytest.approx(np.log(2))


def test_the_temperature_is_where_a_grid_finds_it():
    own = tempered(R, 0.4)
    grid = np.exp(np.linspace(-4, 4, 2001))
    best = grid[np.argmin([divergence(P, tempered(R, t)) for t in grid])]
    assert referee_temperature(P, R) == pytest.approx(best, rel=0.01)
    assert referee_temperature(own, R) == pytest.approx(0.4, rel=1e-3)


def test_scores_against_a_loop():
    logits = np.log(P)
    target = seen(logits, views={"referee:r": np.log(R).astype(np.float32)})
    own, referee = softmax(target.logits.astype(np.float64), axis=1), target.referee
    t = referee_temperature(own, referee)
    for score, p, r in zip(fused_scores(target), own, referee, strict=True):
        r = r ** (1 / t) / (r ** (1 / t)).sum()
        a = p.max() / (p.max() + r.max())
        assert score == pytest.approx(float(p @ (a * p + (1 - a) * r)))


@pytest.mark.parametrize("name", LOGITS)
def test_scores_are_fractions_on_adversarial_inputs(name):
    logits = np.asarray(LOGITS[name], np.float32)
    scores = fused_scores(seen(logits, views={"referee:r": np.roll(logits, 1, axis=1)}))
    assert np.isfinite(scores).all()
    assert scores.min() >= 0
    assert scores.max() <= 1 + 1e-12
