"""The error about public labels that submissions leave, by their number: what `--total-limit` protects.

python benchmarks/attacks/feedback.py [--rows 30] [--decimals 1] [--runs 200]

A team knows the labels with an RMSE of 5.7 points. Its first file holds what it knows, and each further one
moves every row up or down by 20 points at random. A score s of m public rows is a linear equation in their
labels: ``m s^2 = sum((d - e)^2)`` for moves d and errors e of what the team knows. The team solves all
equations by least squares with normal errors, the noise being that of rounding. "rows known" is a team that
knows which rows are public; "rows unknown" knows that they are 30 % of all. Exit code 1 if the default limit,
a fifth of the public sets, leaves less than .85 of the error.
"""

import argparse
import math
import sys

import numpy as np
from numpy.typing import NDArray

from leaderboard.feedback import error_left

ERROR = 5.7  # points
MOVE = 20.0  # points
PUBLIC = 0.3  # share of all rows
LEAST = 0.85


def left(submissions: int, rows: int, decimals: int, known: bool, rng: np.random.Generator) -> float:
    """Returns the RMSE in points about the labels of the public rows after so many submissions."""
    count = rows if known else round(rows / PUBLIC)
    errors = rng.normal(0, ERROR, count)
    public = np.isin(np.arange(count), rng.permutation(count)[:rows])
    moves = MOVE * rng.choice([-1.0, 1.0], (submissions, count))
    moves[:1] = 0
    scores = np.sqrt((((moves - errors) ** 2)[:, public]).mean(axis=1)).round(decimals)
    told = errors_from(scores, moves, rows, 10.0**-decimals, rows / count)
    return float(np.sqrt(np.mean((errors - told)[public] ** 2)))


def errors_from(
    scores: NDArray[np.float64], moves: NDArray[np.float64], rows: int, step: float, share: float
) -> NDArray[np.float64]:
    """Returns the errors (n,) by least squares: differences of squared scores from that of the first file."""
    if len(scores) < 2:
        return np.zeros(moves.shape[1])
    design = -2 * moves[1:]
    seen = rows * (scores[1:] ** 2 - scores[0] ** 2) - share * (moves[1:] ** 2).sum(axis=1)
    noise = (rows * 2 * scores * step) ** 2 / 12
    cover = share * ERROR**2 * design @ design.T + np.diag(noise[1:]) + noise[0]
    return np.asarray(share * ERROR**2 * design.T @ np.linalg.solve(cover, seen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=30, help="number of public rows")
    parser.add_argument("--decimals", type=int, default=1, help="decimals of the scores")
    parser.add_argument("--runs", type=int, default=200, help="number of teams")
    options = parser.parse_args()
    rows, rng = options.rows, np.random.default_rng(0)
    limit = max(3, rows // 5)
    counts = sorted({1, limit, rows // 3, rows // 2, rows, 2 * rows})
    print(f"{rows} public rows, known to {ERROR} points; RMSE in points after a number of submissions")
    print(f"{'':14}{''.join(f'{count:>7}' for count in counts)}")
    shares = {}
    for known in (True, False):
        runs = [[left(n, rows, options.decimals, known, rng) for n in counts] for _ in range(options.runs)]
        means = np.sqrt(np.mean(np.square(runs), axis=0))
        shares[known] = means[counts.index(limit)] / ERROR
        print(f"rows {'known' if known else 'unknown':<9}{''.join(f'{mean:7.2f}' for mean in means)}")
    print(f"{'told by build':<14}{''.join(f'{ERROR * error_left(n, rows):7.2f}' for n in counts)}")
    least = min(shares.values())
    print(f"the default limit of {limit} submissions leaves {least:.2f} of the error")
    sys.exit(least < LEAST or math.isnan(least))


if __name__ == "__main__":
    main()
