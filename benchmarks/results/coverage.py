"""How often intervals around predictions hold the truth, by method: a table of docs/results/intervals.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/coverage.py DIR [--write] [METHOD]...

DIR is as for syp.py here, whose competition with ResNet-56 is built or gone on with. Printed: of intervals at
.9 the share that hold the truth, on meta-train sets of operations left out altogether (the method learns, and
its interval too, from the others) and on the groups of validation sets; and the mean width on these, in
points. Without distance are the same intervals where residuals do not count for more far from the meta-train
sets.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pages import record
from sklearn.base import clone
from syp import competition_of, keys_of

from baselines import BASELINES, Estimator
from baselines.contract.families import folds, subset
from baselines.contract.intervals import Remoteness
from starter.observing.observation import MetaTrain, Observation
from starter.tracks.accuracy.observe import ClassifierSubject
from starter.tracks.sets import PublicSets
from submission import make_id
from submission.scoring import read_targets

LEVEL = 0.9
METHODS = (
    *("constant", "confscore", "entropy", "atc", "atc-ts", "atc+lr", "fd", "doc", "cbpe", "nuclear", "mano"),
    *("softmaxcorr", "dispersion"),
)
ANYWHERE = Remoteness((np.zeros((1, 1)), np.zeros((1, 1))), (0.0, 0.0))
"""To which no set is far."""


def held(intervals: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each interval (m, 2) holds its truth (m,)."""
    return (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])


def left_out(method: Estimator, meta: MetaTrain) -> float:
    """The share held of meta-train sets with an operation that nothing was learnt from, by operation."""
    found = []
    for fold in folds(meta.families):
        fitted, new = clone(method).fit(subset(meta, fold.train)), subset(meta, fold.test)
        found.append(held(fitted.predict_interval(new.sets, LEVEL), new.targets).mean())
    return float(np.mean(found))


def line(
    name: str, meta: MetaTrain, val: list[Observation], truth: NDArray[np.float64], groups: NDArray[np.str_]
) -> dict[str, object]:
    """A method's line of the table."""
    method = clone(BASELINES[name]).fit(meta)
    intervals = method.predict_interval(val, LEVEL)
    assert method._conformal is not None
    method._conformal = replace(method._conformal, remoteness=ANYWHERE)
    before = method.predict_interval(val, LEVEL)
    of_groups = {
        group: float(held(intervals, truth)[groups == group].mean())
        for group in dict.fromkeys(sorted(groups))
    }
    return {
        "method": name,
        "operations left out": left_out(BASELINES[name], meta),
        "validation sets": float(held(intervals, truth).mean()),
        "width": 100 * float(np.diff(intervals, axis=1).mean()),
        **of_groups,
        "without distance": float(held(before, truth).mean()),
        "its width": 100 * float(np.diff(before, axis=1).mean()),
    }


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("methods", nargs="*", metavar="METHOD", default=METHODS)
    parser.add_argument("--write", action="store_true", help="record the table for docs/results")
    options = parser.parse_args()
    competition = competition_of(options.folder, "resnet56")
    (subject,) = competition.subjects
    needs = tuple(sorted({need for name in options.methods for need in BASELINES[name].needs}))
    opened = ClassifierSubject.open(PublicSets(competition), subject, needs)
    meta, val = opened.meta_train(), [*opened.observations("val")]
    targets = read_targets(competition, "val")
    truth = np.array([targets[make_id(subject, name)] for name in competition.sets("val")])
    groups = np.array([group for group, _ in keys_of(competition)])
    found = []
    for name in options.methods:
        found.append(line(name, meta, val, truth, groups))
        print(found[-1], flush=True)
    if options.write:
        record("intervals-predictions", found)


if __name__ == "__main__":
    main()
