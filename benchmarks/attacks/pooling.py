"""Teams that copy are found, and teams with the same method of the kit are not: what `unseen audit` remarks.

python benchmarks/attacks/pooling.py [DIR]

DIR keeps a competition of embedded digits with the predictions of the kit's methods, made in some minutes.
Pairs of teams each hand in a file; the audit knows all methods but their own. Honest teams have one method
each, or one of ten regressors of each of six kinds, trained on random parts of the table of features. A copy
is blended with up to as much of another, scaled by 0.8 to 1.2, moved by up to 3 points, with noise of up to
half of what is its method's own (a point or more), and rounded. Or both teams hand in the same known method,
or blend of two to four, rounded. Exit code 1 if fewer than 95 % of the copies, more than 1 % of honest pairs
of methods, or any of the last kind are remarked.
"""

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from contest import kept, parser, real
from sklearn.base import RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import unseen
from leaderboard.pooling import ALIKE, own_parts
from submission.arrays import FloatArray

OWN = 1.0  # points


def likeness(one: FloatArray, other: FloatArray, known: FloatArray) -> float:
    """Returns the correlation of two teams' files (n,) beyond known values (k, n)."""
    left = own_parts(np.array([one, other]), known)
    return float(left[0] @ left[1])


def own_size(file: FloatArray, known: FloatArray) -> float:
    """Returns the root mean square in points of what is a file's own; less than `SMALL` is not exact."""
    rest = own_parts(file[None], known)[0]
    return float(np.sqrt(np.mean((file @ rest * rest) ** 2)))


def copied(file: FloatArray, other: FloatArray, own: float, rng: np.random.Generator) -> FloatArray:
    """Returns a copy of a file that was changed so as not to be recognised."""
    share = rng.uniform(0.5, 1)
    blend = share * file + (1 - share) * other
    scaled = blend.mean() + rng.uniform(0.8, 1.2) * (blend - blend.mean()) + rng.uniform(-3, 3)
    noisy = scaled + rng.normal(0, rng.uniform(0, own / 2), len(file))
    return np.clip(noisy, 0, 100).round(1)


def with_own_methods(truth: FloatArray, methods: dict[str, FloatArray]) -> tuple[list[float], list[float]]:
    """Returns the likenesses of honest pairs and of copies, where the audit does not know the methods."""
    rng = np.random.default_rng(0)
    honest, copies = [], []
    for pair in itertools.combinations(methods, 2):
        one, other = (methods[name] for name in pair)
        others = [values for name, values in methods.items() if name not in pair]
        known = np.array([truth, *others])
        honest.append(likeness(one, other, known))
        if (own := own_size(one, known)) >= OWN:
            copy = copied(one, others[rng.integers(len(others))], own, rng)
            copies.append(likeness(one, copy, known))
    return honest, copies


def with_known_methods(truth: FloatArray, methods: dict[str, FloatArray], blends: int = 300) -> list[float]:
    """Returns the likenesses of pairs of equal files: methods and blends of methods that the audit knows."""
    rng = np.random.default_rng(1)
    values = np.array(list(methods.values()))
    known = np.array([truth, *values])
    files = [*values]
    for _ in range(blends):
        parts = rng.permutation(len(values))[: rng.integers(2, 5)]
        files.append(rng.dirichlet(np.ones(len(parts))) @ values[parts])
    return [likeness(file.round(digits), file.round(digits), known) for file in files for digits in (0, 1, 2)]


def trained(root: Path, each: int = 10) -> list[list[FloatArray]]:
    """Returns the predictions in points of regressors on random columns of the table of features, by kind."""
    table, test = (unseen.open(root).features(part) for part in ("train", "test"))
    rng = np.random.default_rng(2)

    def predictions(kind: int, seed: int) -> FloatArray:
        columns = rng.permutation(test.columns)[: max(3, len(test.columns) // rng.integers(2, 6))]
        model = make_pipeline(StandardScaler(), regressors(seed, rng)[kind])
        model.fit(table[columns].to_numpy(), table.target)
        return 100 * np.clip(model.predict(test[columns].to_numpy()), 0, 1)

    return [[predictions(kind, seed) for seed in range(each)] for kind in range(6)]


def regressors(seed: int, rng: np.random.Generator) -> list[RegressorMixin]:
    """Returns a regressor of each kind."""
    return [
        Ridge(rng.uniform(0.1, 10)),
        KNeighborsRegressor(5),
        RandomForestRegressor(100, random_state=seed),
        ExtraTreesRegressor(100, random_state=seed),
        GradientBoostingRegressor(random_state=seed),
        SVR(C=0.3, epsilon=0.02),
    ]


def of_trained(
    truth: FloatArray, methods: dict[str, FloatArray], teams: list[list[FloatArray]]
) -> tuple[list[float], list[float]]:
    """Returns the likenesses of pairs of trained teams: with models of other kinds, and of the same kind."""
    known = np.array([truth, *methods.values()])
    left = [own_parts(np.array(files), known) for files in teams]
    others = [float(value) for a, b in itertools.combinations(left, 2) for value in (a @ b.T).ravel()]
    upper = np.triu_indices(len(teams[0]), 1)
    return others, [float(value) for files in left for value in (files @ files.T)[upper]]


def line(title: str, likenesses: Sequence[float]) -> str:
    """Returns a line on how many pairs the audit remarks."""
    remarked = sum(each >= ALIKE for each in likenesses)
    return f"{title:<42} {remarked:>4} of {len(likenesses):>4} remarked, {remarked / len(likenesses):.1%}"


def main() -> None:
    with kept(parser(__doc__)) as (root, _):
        truth, methods = real(root)
        teams = trained(root)
    del methods["constant"]
    honest, copies = with_own_methods(truth, methods)
    same = with_known_methods(truth, methods)
    print(f"{len(truth)} sets, {len(methods)} methods")
    print(line("two methods that the audit does not know", honest))
    other_kind, same_kind = of_trained(truth, methods, teams)
    print(line("two trained models of different kinds", other_kind))
    print(line("two trained models of the same kind", same_kind))
    print(line("a method that it does not know, and a copy", copies))
    print(line("the same known method or blend twice", same))
    rates = [float(np.mean(np.array(each) >= ALIKE)) for each in (honest, copies, same)]
    sys.exit(rates[0] > 0.01 or rates[1] < 0.95 or rates[2] > 0)


if __name__ == "__main__":
    main()
