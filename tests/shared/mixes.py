"""Scored mixes and sources of bare scores."""

import numpy as np

from starter.observing.detectors.metrics import fpr
from starter.observing.observation import MetaTrain, Observation, ScoredMix, Source


def mix(scores, metric="fpr95", name="m", logits=None):
    """A scored mix of these scores; all its logits are alike unless given."""
    scores = np.asarray(scores, float)
    logits = np.zeros((len(scores), 3)) if logits is None else logits
    return ScoredMix(Observation(name, "c", np.asarray(logits, np.float32)), "msp", metric, scores)


def source(scores):
    """A source whose reference has these scores."""
    seen = Observation("reference", "c", np.zeros((len(scores), 3), np.float32))
    labels, values = np.zeros(len(scores), int), np.asarray(scores, float)
    return Source(seen, labels, seen, np.zeros((3, 4)), np.zeros(3), scores=values)


def gaussian_mixes(sets=60, n=300, seed=0, unit=1.0, start=0.0, share=(0.2, 0.8)):
    """Normal IND scores and normal OOD scores further up in ten families of two OOD sets each, the true FPR@95
    from a large pool.

    `unit` and `start` change the scores' unit and origin.
    """
    rng = np.random.default_rng(seed)
    pool, mixes, truth, ood = rng.normal(size=20_000), [], [], []
    families = [(0.3 + 0.3 * i, 0.8 + 0.07 * (7 * i % 10)) for i in range(10)]
    for i in range(sets):
        gap, spread = families[i % 10]
        is_ood = np.arange(n) >= np.clip(round(n * rng.uniform(*share)), 20, n - 20)
        scores = np.where(is_ood, rng.normal(gap, spread, n), rng.normal(size=n))
        order = rng.permutation(n)
        mixes.append(mix(start + unit * scores[order], name=f"m{i}"))
        ood.append(is_ood[order])
        truth.append(fpr(pool, scores[is_ood]))
    reference = source(start + unit * rng.normal(size=2000))
    of = [frozenset({f"f{i % 10}"}) for i in range(sets)]
    names = [f"f{i % 10}_{i // 10 % 2}" for i in range(sets)]
    return MetaTrain(reference, mixes, np.array(truth), (), of, ood, names)
