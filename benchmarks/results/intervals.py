"""How often the 95 % interval of an RMSE holds the truth, by the number of families.

    python benchmarks/results/intervals.py [--runs 20000] [--write]

Errors are normal or Student's t with 5 degrees of freedom; families have 1 to 8 errors, a fifth of them three
times as many; a share of the errors' variance is common to a family. Beside the kit's interval
(`submission.metrics`) stands the percentile bootstrap over families, the kit's interval before. A cell is
the coverage and, behind it, the median width as a multiple of the true RMSE.
"""

import argparse

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pages import record

from submission.metrics import rmse_interval

FAMILIES = (6, 10, 24, 48)
SHARED = (0.25, 0.5, 0.75, 1.0)
LAYOUTS = 20  # of family sizes
DRAWS = 400  # of the bootstrap

Floats = NDArray[np.float64]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return normal numbers of variance 1."""
    return rng.standard_normal(shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return numbers of Student's t with 5 degrees of freedom, scaled to variance 1."""
    return rng.standard_t(5, shape) / np.sqrt(5 / 3)


ERRORS = {"normal": normal, "t, 5 degrees": heavy}


def sums_of_squares(
    kind: str, families: int, shared: float, runs: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return families' sums of squared errors (runs, g), of true mean square 1, and their sizes (g,)."""
    sizes = rng.integers(1, 9, families)
    sizes = np.where(rng.random(families) < 0.2, 3 * sizes, sizes)
    codes = np.repeat(np.arange(families), sizes)
    common = ERRORS[kind](rng, (runs, families))[:, codes]
    errors = np.sqrt(shared) * common + np.sqrt(1 - shared) * ERRORS[kind](rng, (runs, len(codes)))
    return errors**2 @ (codes[:, None] == np.arange(families)), sizes.astype(np.float64)


def bootstrap(sums: Floats, sizes: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the percentile bootstrap's ends (runs,): families are drawn with replacement."""
    count = len(sizes)
    weights = rng.multinomial(count, np.full(count, 1 / count), DRAWS).astype(np.float64)
    low, high = np.quantile(np.sqrt(sums @ weights.T / (weights @ sizes)), [0.025, 0.975], axis=1)
    return low, high


def coverage(runs: int) -> pd.DataFrame:
    """Return a row for each kind of error, number of families and share that is common to a family."""
    rng = np.random.Generator(np.random.Philox(key=[0, 0]))
    rows = []
    for kind in ERRORS:
        for families in FAMILIES:
            for shared in SHARED:
                found = []
                for _ in range(LAYOUTS):
                    sums, sizes = sums_of_squares(kind, families, shared, runs // LAYOUTS, rng)
                    for low, high in (rmse_interval(sums, sizes), bootstrap(sums, sizes, rng)):
                        found.append((((low <= 1) & (high >= 1)).mean(), np.median(high - low)))
                (held, width), (before, width_before) = np.array(found).reshape(LAYOUTS, 2, 2).mean(axis=0)
                rows.append((kind, families, shared, held, width, before, width_before))
    columns = ["errors", "families", "shared", "coverage", "width", "bootstrap", "bootstrap width"]
    return pd.DataFrame(rows, columns=columns)


def main() -> None:
    """Print the table, and write it where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20_000, help="simulated competitions for each row")
    parser.add_argument("--write", action="store_true", help="record the table for docs/results")
    asked = parser.parse_args()
    table = coverage(asked.runs)
    print(table.to_string(index=False, float_format="{:.3f}".format))
    print(
        f"\nlowest coverage: {table.coverage.min():.3f}; up to a shared half, "
        f"{table.coverage[table.shared <= 0.5].min():.3f}; up to three quarters, "
        f"{table.coverage[table.shared <= 0.75].min():.3f}"
    )
    if asked.write:
        record("intervals", table.to_dict("records"), 3)


if __name__ == "__main__":
    main()
