"""The Frechet distance against the usual formula with `scipy.linalg.sqrtm`, on the same number of threads.

python benchmarks/speed/fd.py [--dim 1280] [--images 10000] [--sets 10]

The reference computes sqrtm(S_a S_b) for every set; the kit takes eigenvalues of a symmetric product, which
is a smaller one where a set has fewer images than features, and keeps the factor of the common reference.
That has 10,000 images. Printed: the time of one distance with nothing kept, the time of each
of many sets against one reference (CPU seconds, which other load lengthens less than wall-clock time), that
of the eigenvalues alone, below which no distance comes, the ratios, and the largest relative difference of
the distances.
"""

import argparse
import statistics
import time

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh, sqrtm

from baselines.accuracy.fd import frechet_distance
from starter.observing.observation import Moments

REFERENCE = 10_000
"""Images of the common reference."""


def by_sqrtm(a: Moments, b: Moments) -> float:
    """The textbook formula."""
    root = sqrtm(a.covariance @ b.covariance)
    shift = a.mean - b.mean
    return float(shift @ shift + np.trace(a.covariance + b.covariance - 2 * root.real))


def moments(features: NDArray[np.float64]) -> Moments:
    """Of features (n, d)."""
    return Moments(features.mean(axis=0), np.cov(features, rowvar=False), len(features))


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--dim", type=int, default=1280)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--sets", type=int, default=10)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((options.dim, options.dim)) / np.sqrt(options.dim)
    shape = (options.images, options.dim)
    reference = moments(np.maximum(rng.standard_normal((REFERENCE, options.dim)) @ mix, 0))
    slow, first, later, eigenvalues, differences = [], [], [], [], []
    for number in range(options.sets):
        scale = 1 + 0.1 * number
        target = moments(np.maximum(scale * rng.standard_normal(shape) @ mix + 0.01 * number, 0))
        fresh = Moments(reference.mean, reference.covariance, reference.n)
        if number == 0:
            frechet_distance(reference, target)  # the root of the reference is kept from here on
        times = [time.process_time()]
        values = []
        for distance, a in ((by_sqrtm, fresh), (frechet_distance, fresh), (frechet_distance, reference)):
            values.append(distance(a, target))
            times.append(time.process_time())
        eigvalsh(target.covariance, check_finite=False)
        times.append(time.process_time())
        for taken, start, end in zip((slow, first, later, eigenvalues), times, times[1:], strict=False):
            taken.append(end - start)
        differences += [abs(value / values[0] - 1) for value in values[1:]]
    sqrt, alone, many, least = (statistics.median(taken) for taken in (slow, first, later, eigenvalues))
    print(f"d = {options.dim}, {options.images:,} images, {options.sets} sets")
    print(f"sqrtm {sqrt:.2f} s; one distance {alone:.3f} s, {sqrt / alone:.1f} times faster")
    print(f"one reference, many sets: {many:.3f} s each, {sqrt / many:.1f} times faster")
    print(f"eigenvalues alone: {least:.3f} s, {sqrt / least:.1f} times faster")
    print(f"largest relative difference {max(differences):.1e}")


if __name__ == "__main__":
    main()
