"""How often the paired test decides wrongly, and rightly (docs/results/intervals.md).

    python benchmarks/results/decisions.py [--runs 1000] [--write]

The share of simulated tables in which any pair of systems is told apart, by the number of items or families.
Where the means are equal a system is a little better on nine tenths of all items and much worse on a tenth.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import real
from pages import record

from leaderboard.pairs import PAIR_DRAWS, holm, tail_test
from submission.arrays import FloatArray
from submission.scoretable import Families

NUMBERS = (10, 12, 20, 24, 29, 48, 50, 200)
BLOCK = 200  # of random signs
Draw = Callable[[np.random.Generator, int], FloatArray]


def rare(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Differences of mean 0: 1 on nine tenths, -9 on a tenth."""
    return np.where(rng.random(shape) < 0.1, -9.0, 1.0)


def fractions(rng: np.random.Generator, count: int, noise: float, systems: int = 2) -> FloatArray:
    """Scores about .5: the first system's are .02 better, and .18 worse on a tenth."""
    base = rng.uniform(0.4, 0.6, count) + 0.02 * noise * rng.normal(size=(systems, count))
    return np.vstack([base[0] + 0.02 * rare(rng, (count,)), base[1:]])


def errors(rng: np.random.Generator, count: int) -> FloatArray:
    """Squared errors of about five points: the first system's are 2 lower, and 18 higher on a tenth."""
    squares = np.square(rng.normal(5, 1, count) + 0.2 * rng.normal(size=(2, count)))
    return np.vstack([squares[0] - 2 * rare(rng, (count,)), squares[1]])


def proportional(rng: np.random.Generator, count: int) -> FloatArray:
    """Squared normal errors: the first system's are a quarter lower, and 3.25 times as large on a tenth."""
    squares = np.square(rng.normal(0, 5, count))
    return np.vstack([squares * (1 - rare(rng, (count,)) / 4), squares])


def normal(rng: np.random.Generator, count: int) -> FloatArray:
    """Scores whose differences are normal, 2.8 standard errors in the mean; items vary by 10."""
    even = rng.normal(size=count) + 2.8 / np.sqrt(count)
    base = 50 + 10 * rng.normal(size=count)
    return np.vstack([base + even, base])


def right(rng: np.random.Generator, count: int, one: float, other: float) -> FloatArray:
    """Scores of 0 and 1 with these chances of 1."""
    return (rng.random((2, count)) < [[one], [other]]).astype(np.float64)


def sized(rng: np.random.Generator, count: int, ratio: float) -> FloatArray:
    """Squared normal errors, correlated by .8, of which one system's are `ratio` times as large."""
    first, second = rng.normal(size=(2, count))
    return np.square(np.vstack([first, ratio * (0.8 * first + 0.6 * second)]))


DRAWS: tuple[tuple[str, str, Draw], ...] = (
    ("equal", "fractions", partial(fractions, noise=0)),
    ("equal", "fractions, noisy", partial(fractions, noise=1)),
    ("equal", "fractions, noisy, 4 systems", partial(fractions, noise=1, systems=4)),
    ("equal", "squared errors", errors),
    ("equal", "squared errors, in proportion", proportional),
    ("even", "normal, about 50 +- 10", normal),
    ("even", "0 or 1, chances .3 and .8", partial(right, one=0.3, other=0.8)),
    ("even", "0 or 1, chances .5 and .7", partial(right, one=0.5, other=0.7)),
    ("even", "squared errors, ratio of RMSEs .5", partial(sized, ratio=0.5)),
    ("even", "squared errors, ratio of RMSEs .7", partial(sized, ratio=0.7)),
)
"""Means, scores, and what draws them."""


def by_signs(differences: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The p-values (..., p) of the sign test for differences (..., p, n), all with the same random signs."""
    totals = np.abs(differences.sum(axis=-1, keepdims=True)) * (1 - 1e-9)
    reached = np.zeros(differences.shape[:-1])
    for _ in range(PAIR_DRAWS // BLOCK):
        signs = rng.choice([-1.0, 1.0], (differences.shape[-1], BLOCK))
        reached += (np.abs(differences @ signs) >= totals).sum(axis=-1)
    return reached / PAIR_DRAWS


def decided(draw: Draw, count: int, runs: int) -> tuple[float, float]:
    """The shares of tables with any pair told apart, by signs alone and by the whole test."""
    rng = np.random.Generator(np.random.Philox(key=[count, 0]))
    families = Families(np.arange(count))
    tables = np.stack([draw(rng, count) for _ in range(runs)])
    rows, columns = np.triu_indices(tables.shape[1], 1)
    signs = by_signs(tables[:, rows] - tables[:, columns], rng)
    tails = np.stack([tail_test(table, families)[rows, columns] for table in tables])
    alone, both = ([holm(p).min() <= 0.05 for p in each] for each in (signs, np.maximum(signs, tails)))
    return float(np.mean(alone)), float(np.mean(both))


def main() -> None:
    """Measure, print, and record where that is asked for."""
    parser = real.parser(__doc__, folder=False)
    parser.add_argument("--runs", type=int, default=1000, help="simulated tables for each cell")
    asked = parser.parse_args()
    lines = []
    for means, scores, draw in DRAWS:
        shares = zip(*(decided(draw, count, asked.runs) for count in NUMBERS), strict=True)
        for test, cells in zip(("signs", "test"), shares, strict=True):
            columns = dict(zip(map(str, NUMBERS), cells, strict=True))
            lines.append({"means": means, "scores": scores, "by": test, **columns})
            print(lines[-1], flush=True)
    if asked.write:
        record("decisions", lines, 3)


if __name__ == "__main__":
    main()
