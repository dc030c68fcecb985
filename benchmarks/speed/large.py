"""Seconds a set of 1,000 images at ImageNet's size: 1,000 classes, 2,048 features, a method at a time.

    OMP_NUM_THREADS=1 python benchmarks/speed/large.py [--classes 1000] [--features 2048] [--images 1000]

Features are drawn around a centre a class, logits are their products with the centres. Printed: seconds of
processor time to predict a set of which everything was observed (median of three sets). Then what `cott`
takes at 10, 100 and 1,000 classes, and how many times as long POT's `emd` takes for the same transport as the
kit's (medians of five rounds in which they take turns), with the difference of the two costs.
"""

import argparse
import time

import numpy as np
import ot
from sklearn.base import clone

from baselines import BASELINES
from baselines.accuracy.cot import optimal_plan
from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Moments, Observation, Source

METHODS = ("fd", "dispersion", "bop", "nuclear", "mano", "mlls", "cot", "cott", "cott-em")
CLASSES = (10, 100, 1000)
ROUNDS = 5


def observed(
    name: str, centres: np.ndarray, n: int, noise: float, seed: int
) -> tuple[Observation, np.ndarray]:
    """A set of n images and their labels (n,)."""
    rng, (k, d) = np.random.default_rng(seed), centres.shape
    labels = rng.integers(k, size=n)
    features = np.maximum(centres[labels] + noise * rng.normal(size=(n, d)), 0).astype(np.float32)
    mean = features.mean(axis=0, dtype=np.float64)
    covariance = np.cov(features, rowvar=False).astype(np.float64)
    logits = (features @ centres.T / np.sqrt(d)).astype(np.float32)
    moments = Moments(mean, covariance, n)
    return Observation(name, "made up", logits, moments, features.astype(np.float16)), labels


def seconds(method: Estimator, k: int, d: int, n: int) -> float:
    """Processor time of one prediction."""
    centres = np.random.default_rng(0).normal(size=(k, d)).astype(np.float32)
    reference, labels = observed("reference", centres, 5000, 2.0, 1)
    train, _ = observed("train", centres, 5000, 2.0, 2)
    source = Source(reference, labels, train, centres, np.zeros(k, np.float32), None)
    sets = [observed(f"set{i}", centres, n, 3.0 + i, 3 + i)[0] for i in range(3)]
    right = [np.zeros(n, bool)] * 3
    families = [frozenset({str(i)}) for i in range(3)]
    method.fit(MetaTrain(source, sets, np.array([0.3, 0.5, 0.7]), right, families))
    taken = []
    for each in sets:
        start = time.process_time()
        method.predict([each])
        taken.append(time.process_time() - start)
    return float(np.median(taken))


def transported(k: int, n: int) -> tuple[float, float, float]:
    """Seconds of the kit's transport of n images to k classes and of POT's, and their costs' difference."""
    rng = np.random.default_rng(0)
    logits = 3 * rng.normal(size=(n, k))
    gain = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    images, classes = np.ones(n, np.int64), np.bincount(rng.integers(k, size=5 * n), minlength=k)
    rounds = []
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        plan = optimal_plan(gain, images, classes)
        middle = time.process_time()
        _, found = ot.emd(images / n, classes / classes.sum(), 1 - gain, numItermax=10**8, log=True)
        rounds.append((middle - start, time.process_time() - middle))
    ours, pots = np.median(rounds[1:], axis=0)
    return float(ours), float(pots), abs(float(((1 - gain) * plan).sum() / plan.sum() - found["cost"]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--features", type=int, default=2048)
    parser.add_argument("--images", type=int, default=1000)
    options = parser.parse_args()
    for name in METHODS:
        taken = seconds(clone(BASELINES[name]), options.classes, options.features, options.images)
        print(f"{name:<12} {taken:6.3f} s", flush=True)
    for k in CLASSES:
        print(f"cott, {k:>4} classes {seconds(clone(BASELINES['cott']), k, 64, options.images):6.3f} s")
        ours, pots, apart = transported(k, options.images)
        print(
            f"  transport alone {ours:.4f} s, POT's {pots:.4f} s: {pots / ours:.2f} times; {apart:.0e} apart"
        )


if __name__ == "__main__":
    main()
