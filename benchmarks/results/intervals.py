"""How often intervals hold the truth (docs/results/intervals.md).

    python benchmarks/results/intervals.py [--means] [--runs 8000] [--write]

The 95 % interval of an RMSE (`submission.metrics`) in a simulation: families have 1 to 8 errors, a
fifth of them three times as many; a share of the errors' variance is common to a family; the width is a
multiple of the true RMSE. With --means that of a mean in `unseen compare`, where half of the scores' variance
is common to a family.
"""

from collections.abc import Iterator

import numpy as np
import real
from pages import record

from leaderboard.compare import effective_families
from leaderboard.compare import interval as mean_interval
from submission.arrays import FloatArray
from submission.metrics import rmse_interval
from submission.scoretable import Families

LAYOUTS = 20  # of family sizes
FAR = "t, a fifth 3 times as far off"
ERRORS = ("normal", "t, 5 degrees", FAR)
"""In the last a fifth of the families is three times as far off."""


def drawn(kind: str, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Errors of variance 1."""
    return rng.standard_normal(shape) if kind == "normal" else rng.standard_t(5, shape) / np.sqrt(5 / 3)


def simulated(
    kind: str, families: int, shared: float, runs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Families' sums of squared errors (runs, g), of true mean square 1, and their sizes (g,)."""
    sizes = rng.integers(1, 9, families)
    sizes = np.where(rng.random(families) < 0.2, 3 * sizes, sizes)
    codes = np.repeat(np.arange(families), sizes)
    scale = np.ones((runs, families))
    if kind == FAR:
        scale = np.where(rng.random((runs, families)) < 0.2, 3.0, 1.0) / np.sqrt(0.2 * 9 + 0.8)
    common = drawn(kind, rng, (runs, families))[:, codes]
    errors = np.sqrt(shared) * common + np.sqrt(1 - shared) * drawn(kind, rng, (runs, len(codes)))
    return (scale[:, codes] * errors) ** 2 @ (codes[:, None] == np.arange(families)), sizes.astype(np.float64)


def of_rmse(runs: int) -> Iterator[dict[str, object]]:
    """A line for each kind of error, number of families and share that is common to a family."""
    rng = np.random.Generator(np.random.Philox(key=[0, 0]))
    for kind in ERRORS:
        for families in (6, 10, 24, 48):
            for shared in (0.25, 0.5, 0.75, 1.0):
                found = []
                for _ in range(LAYOUTS):
                    low, high = rmse_interval(*simulated(kind, families, shared, runs // LAYOUTS, rng))
                    found.append((((low <= 1) & (high >= 1)).mean(), np.median(high - low)))
                held, width = np.mean(found, axis=0)
                line = {"errors": kind, "families": families, "shared": shared, "coverage": float(held)}
                yield {**line, "width": float(width)}


def of_mean(runs: int) -> Iterator[dict[str, object]]:
    """A line for each share of the items that one family of 40 has; the others have four items each."""
    rng = np.random.Generator(np.random.Philox(key=[1, 0]))
    for share in (1 / 40, 0.2, 0.4, 0.6):
        sizes = np.full(40, 4)
        sizes[0] = round(4 * 39 * share / (1 - share))
        families = Families(np.repeat(np.arange(40), sizes))
        scores = rng.normal(size=(runs, 40))[:, families.codes] + rng.normal(size=(runs, sizes.sum()))
        low, high = mean_interval(scores, families)
        equal = float(effective_families(scores[0], families))
        coverage, width = float(((low <= 0) & (high >= 0)).mean()), float(np.median(high - low))
        yield {"share of the largest": share, "equal families": equal, "coverage": coverage, "width": width}


def main() -> None:
    """Measure, print, and record where that is asked for."""
    parser = real.parser(__doc__, folder=False)
    parser.add_argument("--runs", type=int, default=8000, help="simulated competitions for each row")
    parser.add_argument("--means", action="store_true", help="intervals of means with a large family")
    asked = parser.parse_args()
    name, of = ("intervals-means", of_mean) if asked.means else ("intervals", of_rmse)
    lines = []
    for line in of(asked.runs):
        lines.append(line)
        print(line, flush=True)
    if asked.write:
        record(name, lines, 3)


if __name__ == "__main__":
    main()
