"""The error about public labels that submissions leave, by their number: what `--total-limit` protects.

python benchmarks/attacks/feedback.py DIR [--sets 30]

DIR keeps a competition of embedded digits with the predictions of the kit's methods, made in some minutes.
A team has them all, starts from `gated`, and takes its errors for a sum of a constant, the other methods'
deviations, and chance. After `gated` each file moves every set by 20 points, along the direction in which
most is unknown. A score s of m public sets is linear in their labels: ``m s^2 = sum((d - e)^2)`` for moves d
and errors e, solved by least squares with the noise of rounding. "sets unknown" is a team that knows only
that 30 % are public. Exit code 1 if `build` prints other figures, by more than 0.03.
"""

import sys
from pathlib import Path

import numpy as np
from contest import parser, real

from leaderboard.feedback import error_left
from submission.arrays import BoolArray, FloatArray

START = "gated"
MOVE = 20.0  # points
PUBLIC = 0.3  # share of all sets
CONSTANT, METHODS, CHANCE = 0.3, 0.5, 0.2
"""Shares of the variance of the errors, as the team believes."""
APART = 0.03


def believed(known: FloatArray, others: FloatArray) -> FloatArray:
    """Returns the covariance (n, n) of the errors of what a team knows (n,), up to a factor."""
    methods = (others - known).T @ (others - known)
    methods *= len(known) / np.trace(methods)
    return CONSTANT * np.ones_like(methods) + METHODS * methods + CHANCE * np.eye(len(known))


def moves(cover: FloatArray, submissions: int, rng: np.random.Generator) -> FloatArray:
    """Returns the moves in points (submissions, n): none first, then along directions of most variance."""
    directions = np.sign(np.linalg.eigh(cover)[1].T[::-1])
    further = rng.choice([-1.0, 1.0], (max(0, submissions - 1 - len(cover)), len(cover)))
    return MOVE * np.vstack([np.zeros(len(cover)), directions, further])[:submissions]


def left(
    truth: FloatArray, known: FloatArray, cover: FloatArray, public: BoolArray, moved: FloatArray, step: float
) -> float:
    """Returns the share of the RMSE about the labels of public sets that scores leave, rounded to `step`."""
    errors = truth - known
    moved = np.clip(known + moved, 0, 100) - known
    exact = np.sqrt(((moved - errors)[:, public] ** 2).mean(axis=1))
    scores = np.round(exact / step) * step
    cover = cover * np.mean(errors[public] ** 2)
    rest = errors - errors_from(scores, moved, cover, public.sum(), step)
    return float(np.sqrt(np.mean(rest[public] ** 2) / np.mean(errors[public] ** 2)))


def errors_from(
    scores: FloatArray, moved: FloatArray, cover: FloatArray, sets: int, step: float
) -> FloatArray:
    """Returns the errors (n,) by least squares: differences of squared scores from that of the first file."""
    share = sets / len(cover)
    squares = moved[1:] ** 2
    seen = sets * (scores[1:] ** 2 - scores[0] ** 2) - share * squares.sum(axis=1)
    noise = (sets * 2 * scores * step) ** 2 / 12
    uneven = squares - squares.mean(axis=1, keepdims=True)
    chance = share * (1 - share) * (4 * moved[1:] * np.diag(cover) @ moved[1:].T + uneven @ uneven.T)
    of_scores = 4 * share**2 * moved[1:] @ cover @ moved[1:].T + chance + np.diag(noise[1:]) + noise[0]
    return np.asarray(-2 * share * cover @ moved[1:].T @ np.linalg.solve(of_scores, seen))


def shares_left(
    truth: FloatArray, methods: dict[str, FloatArray], sets: int, known: bool, step: float, runs: int
) -> dict[int, float]:
    """Returns the share of the error that is left, by the number of submissions, over draws of the sets."""
    counts = sorted({max(3, sets // 5), sets // 3, sets // 2, sets, 2 * sets})
    others = np.array([values for name, values in methods.items() if name != START])
    rng = np.random.default_rng(0)
    squares = []
    for _ in range(runs):
        drawn = rng.permutation(len(truth))[: sets if known else round(sets / PUBLIC)]
        public = np.arange(len(drawn)) < sets
        cover = believed(methods[START][drawn], others[:, drawn])
        moved = moves(cover, counts[-1], rng)
        of_team = truth[drawn], methods[START][drawn], cover, public
        squares.append([left(*of_team, moved=moved[:count], step=step) ** 2 for count in counts])
    return dict(zip(counts, np.sqrt(np.mean(squares, axis=0)).tolist(), strict=True))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sets", type=int, default=30, help="number of public sets, at most 60")
    options.add_argument("dir", type=Path, metavar="DIR")
    given = options.parse_args()
    sets = given.sets
    truth, methods = real(given.dir)
    print(f"share of the error about {sets} public labels that submissions leave")
    apart = 0.0
    for known in (True, False):
        measured = shares_left(truth, methods, sets, known, step=0.1, runs=200)
        printed = {count: error_left(count, sets, known) for count in measured}
        if known:
            print(f"{'':26}{''.join(f'{count:>6}' for count in measured)}")
        for title, shares in (("measured", measured), ("printed by build", printed)):
            label = f"sets {'known' if known else 'unknown'}, {title}"
            print(f"{label:<31}{''.join(f'{share:6.2f}' for share in shares.values())}")
        apart = max(apart, *(abs(measured[count] - printed[count]) for count in measured))
    print(f"largest difference {apart:.2f}")
    sys.exit(apart > APART)


if __name__ == "__main__":
    main()
