"""Seconds a set of 1,000 images at ImageNet's size: 1,000 classes, 2,048 features, a method at a time.

    OMP_NUM_THREADS=1 python benchmarks/speed/large.py [--classes 1000] [--features 2048] [--write]

Features are drawn around a centre a class, logits are their products with the centres, views and referee are
the logits with noise. Printed: seconds of processor time to predict a set of which everything was observed
(median of three sets), for every method that runs without being named; --write makes the page's table of the
slower ones. Then what `cott`
takes at 10, 100 and 1,000 classes, and how many times as long POT's `emd` takes for the same transport as the
kit's (medians of five rounds in which they take turns), with the difference of the two costs; without POT
(`pip install POT`) this part is left out.
"""

import argparse
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.base import clone

from baselines.accuracy.cot import optimal_plan
from baselines.contract.estimator import Estimator
from starter.observing.observation import MetaTrain, Moments, Observation, Source
from unseen.api.methods import EXPENSIVE, methods_of

VIEWS = ("rotate90", "rotate180", "rotate270", "grey", "peer:other", "referee:first")
SHOWN = 0.05
"""Seconds a set from which a method stands in the page's table."""
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
    seen = Observation(
        name,
        "made up",
        logits,
        Moments(mean, covariance, n),
        features.astype(np.float16),
        rng.random((n, 3), np.float32),
        rng.random(n, np.float32),
        {view: logits + rng.normal(size=logits.shape).astype(np.float32) for view in VIEWS},
    )
    return seen, labels


def made_up(k: int, d: int, n: int) -> MetaTrain:
    """Three sets of n images, with a source of 5,000."""
    centres = np.random.default_rng(0).normal(size=(k, d)).astype(np.float32)
    reference, labels = observed("reference", centres, 5000, 2.0, 1)
    train, _ = observed("train", centres, 5000, 2.0, 2)
    source = Source(reference, labels, train, centres, np.zeros(k, np.float32), None)
    pairs = [observed(f"set{i}", centres, n, 3.0 + i, 3 + i) for i in range(3)]
    sets, truth = [seen for seen, _ in pairs], [classes for _, classes in pairs]
    right = [seen.predicted == classes for seen, classes in pairs]
    families = [frozenset({str(i)}) for i in range(3)]
    return MetaTrain(source, sets, np.array([0.3, 0.5, 0.7]), right, families, labels=truth)


def seconds(method: Estimator, meta: MetaTrain) -> float:
    """Processor time of one prediction."""
    method.fit(meta)
    taken = []
    for each in meta.sets:
        start = time.process_time()
        method.predict([replace(each)])  # without what an earlier method has computed of it
        taken.append(time.process_time() - start)
    return float(np.median(taken))


def transported(k: int, n: int) -> tuple[float, float, float]:
    """Seconds of the kit's transport of n images to k classes and of POT's, and their costs' difference."""
    import ot  # compiled at its first import, with warnings of its own

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
    parser.add_argument("--write", action="store_true", help="into docs/results/data")
    options = parser.parse_args()
    kit = methods_of("accuracy")
    meta = made_up(options.classes, options.features, options.images)
    taken = {name: seconds(clone(kit[name]), meta) for name in kit if name not in EXPENSIVE}
    for name in sorted(taken, key=lambda name: -taken[name]):
        print(f"{name:<12} {taken[name]:6.3f} s", flush=True)
    if options.write:
        slow = [{"method": name, "s a set": each} for name, each in taken.items() if each >= SHOWN]
        sys.path.append(str(Path(__file__).resolve().parents[1] / "results"))
        from pages import record

        command = "OMP_NUM_THREADS=1 python benchmarks/speed/large.py --write"
        record("speed-large", sorted(slow, key=lambda row: -row["s a set"]), command=command)
    for k in CLASSES:
        print(f"cott, {k:>4} classes {seconds(clone(kit['cott']), made_up(k, 64, options.images)):6.3f} s")
        if find_spec("ot") is None:
            continue
        ours, pots, apart = transported(k, options.images)
        print(
            f"  transport alone {ours:.4f} s, POT's {pots:.4f} s: {pots / ours:.2f} times; {apart:.0e} apart"
        )


if __name__ == "__main__":
    main()
