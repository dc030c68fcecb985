"""Every method that is not dear predicts a set of 1,000 classes."""

import numpy as np
import pytest
from sklearn.base import clone

from starter.observing.observation import MetaTrain, Moments, Observation, Source
from unseen.api.methods import SLOW, methods_of

CLASSES, FEATURES = 1000, 24
VIEWS = ("rotate90", "rotate180", "rotate270", "grey", "peer:other", "referee:first")


def observed(n: int, noise: float, seed: int) -> tuple[Observation, np.ndarray]:
    """A set of n images, all of which any method may ask for, and their labels (n,)."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(CLASSES, FEATURES))
    labels = rng.permutation(np.resize(rng.permutation(CLASSES), n))
    features = centres[labels] + noise * rng.normal(size=(n, FEATURES))
    logits = (features @ centres.T).astype(np.float32)
    seen = Observation(
        f"set {seed}",
        "made up",
        logits,
        Moments.of(features),
        features.astype(np.float16),
        rng.random((n, 3), np.float32),
        rng.random(n, np.float32),
        {view: logits + rng.normal(size=logits.shape).astype(np.float32) for view in VIEWS},
        features.astype(np.float16),
    )
    return seen, labels


@pytest.fixture(scope="module")
def meta() -> MetaTrain:
    """Four sets of 60 images and a source of 1,500, in which a few classes have no image."""
    reference, labels = observed(1500, 0.7, 1)
    kept = np.flatnonzero(labels < CLASSES - 5)
    centres = np.random.default_rng(0).normal(size=(CLASSES, FEATURES)).astype(np.float32)
    train, _ = observed(500, 0.7, 2)
    source = Source(reference.take(kept), labels[kept], train, centres, np.zeros(CLASSES, np.float32))
    sets, truth = zip(*(observed(60, 0.5 + 0.5 * i, 3 + i) for i in range(4)), strict=True)
    right = [each.predicted == classes for each, classes in zip(sets, truth, strict=True)]
    targets = np.array([each.mean() for each in right])
    families = [frozenset({str(i)}) for i in range(4)]
    return MetaTrain(source, sets, targets, right, families, labels=truth)


METHODS = sorted(set(methods_of("accuracy")) - set(SLOW))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.slow
def test_a_method_stands_a_thousand_classes(name: str, meta: MetaTrain) -> None:
    method = clone(methods_of("accuracy")[name]).fit(meta)
    (found,) = method.predict([meta.sets[1]])
    assert 0 <= found <= 1
