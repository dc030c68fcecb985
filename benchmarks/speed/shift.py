"""The distance to the 10th nearest ID sample against scikit-learn's exact ones, on the same threads.

python benchmarks/speed/shift.py [--queries 20000] [--reference 20000] [--length 256] [--rounds 3]

scikit-learn is asked twice: for the cosine distance itself, and for the Euclidean distance of unit rows,
whose square is twice the cosine distance and for which it has a faster way. Printed: times, ratios (medians
of rounds), and the largest difference of the distances.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.neighbors import NearestNeighbors

from starter.shift.grid import NEIGHBOUR, kth_distance
from submission.arrays import FloatArray


def by_cosine(queries: FloatArray, reference: FloatArray) -> FloatArray:
    """scikit-learn's cosine distance."""
    nearest = NearestNeighbors(n_neighbors=NEIGHBOUR, metric="cosine", algorithm="brute").fit(reference)
    return nearest.kneighbors(queries)[0][:, -1]


def by_euclid(queries: FloatArray, reference: FloatArray) -> FloatArray:
    """scikit-learn's Euclidean distance of rows of length 1, as cosine distance."""
    first, second = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, reference))
    nearest = NearestNeighbors(n_neighbors=NEIGHBOUR, metric="euclidean", algorithm="brute").fit(second)
    return nearest.kneighbors(first)[0][:, -1] ** 2 / 2


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--reference", type=int, default=20_000)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="Only the kit's.")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    shapes = ((options.queries, options.length), (options.reference, options.length))
    queries, reference = (rng.standard_normal(shape, np.float32) for shape in shapes)
    ways: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {"unseen": kth_distance}
    if not options.alone:
        ways |= {"scikit-learn, cosine": by_cosine, "scikit-learn, Euclidean": by_euclid}
    times: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, FloatArray] = {}
    for _ in range(options.rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            found[name] = way(queries, reference)
            times[name].append(time.perf_counter() - start)
    for name in ways:
        ratios = [other / own for other, own in zip(times[name], times["unseen"], strict=True)]
        apart = abs(found[name] - found["unseen"]).max()
        seconds, ratio = statistics.median(times[name]), statistics.median(ratios)
        print(f"{name:24} {seconds:7.2f} s  {ratio:5.2f} times unseen's  largest difference {apart:.1e}")
    print(f"largest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
