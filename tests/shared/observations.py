"""Observations and sources from bare logits, and the adversarial logits that every indicator is tried on."""

import numpy as np

from starter.observing.observation import Observation, Source


def seen(logits, **parts):
    """An observation of these logits and nothing else but `parts`."""
    return Observation("s", "c", np.asarray(logits, np.float32), **parts)


def featured(logits, d=5, seed=0, **parts):
    """An observation of these logits and made-up float16 features that depend on them."""
    logits = np.asarray(logits, np.float32)
    rng = np.random.default_rng(seed)
    features = np.eye(logits.shape[1], d)[logits.argmax(axis=1)] + rng.normal(size=(len(logits), d))
    return seen(logits, features=features.astype(np.float16), **parts)


def source_of(logits, labels, **parts):
    """A labelled source of these logits; `parts` go to its training reference."""
    k = np.shape(logits)[1]
    return Source(seen(logits), np.asarray(labels), seen(logits, **parts), np.zeros((k, 3)), np.zeros(k))


LOGITS = {
    "random": np.random.default_rng(0).normal(size=(50, 7)) * 3,
    "uniform": np.zeros((12, 5)),
    "one-hot": 1e4 * np.eye(10),
    "one class": np.tile([1e4, -1e4, 0], (20, 1)),
    "n < k": np.random.default_rng(1).normal(size=(3, 40)),
    "n = 1": np.array([[3.0, -1.0, 0.5]]),
    "+-1e4": np.random.default_rng(2).choice([-1e4, 1e4], size=(30, 6)),
}
