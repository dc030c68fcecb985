"""Published tables beside what the kit has by the same measure: the tables of docs/results/published.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/published.py NAME DIR [--classifier resnet56]... [--write]

FOLDER is as for gated.py here. DIR keeps what networks have seen. NAME is one of
mano   R squared and Spearman's correlation of scores and accuracies over the 19 corruptions of CIFAR-10-C at
       five severities, as in table 1 of MaNo (Xie et al., NeurIPS 2024); on 500 test images.
frap   Absolute errors by classifier and kind of sets, each pair of which is a setting as in FRAP (CVPR 2026);
       DIR is that of gated.py, of whose first seed the sets are. The referee is lite0.
Nothing is fitted, but for `gated`, which learns from meta-train sets.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import real
from gated import Seen, kind_of
from pages import record
from sklearn.base import clone

from baselines import BASELINES, Direct
from starter.data.operations import GROUPS
from starter.data.sets.recipe import Recipe
from starter.observing.cache import Cache
from starter.observing.observe import Observer
from submission.metrics import pearson, spearman

IMAGES = 500
SEVERITIES = range(1, 6)
CORRELATIONS = {
    "mano": (0.996, 0.995),
    "nuclear": (0.995, 0.996),
    "cot": (0.987, 0.995),
    "dispersion": (0.972, 0.990),
    "atc": (0.926, 0.991),
    "confscore": (0.916, 0.991),
    "fd": (0.874, 0.970),
}
"""R squared and Spearman's correlation as MaNo's authors print them, means over three networks."""
ERRORS = {"gated": None, "frap": 6.53, "cott": 6.72, "cot": 7.65, "atc": 8.45, "doc": 12.70}
"""Mean absolute errors as FRAP's authors print them, means over 18 settings."""


def mano(folder: Path, arch: str) -> Iterator[dict[str, object]]:
    """A line for each method: correlations here and as printed, without their signs."""
    reference, others = real.held_out(IMAGES)
    recipes = [
        Recipe(f"{name}-{severity}", severity, ((name, {"severity": severity}),))
        for name in GROUPS["corruptions"]
        for severity in SEVERITIES
    ]
    train = real.images("train", len(reference))
    observer = Observer(real.classifier(arch), Cache(folder / "cache"))
    rendered = [recipe.render(others) for recipe in recipes]
    source, sets = real.observed(observer, reference, train, *rendered, needs=("features", "moments"))
    accuracies = np.array([(each.predicted == others.truth).mean() for each in sets])
    for name, (printed, printed_spearman) in CORRELATIONS.items():
        method = BASELINES[name]
        assert isinstance(method, Direct)
        scores = np.array([method.indicator(each, source) for each in sets])
        here = {"R squared": pearson(scores, accuracies) ** 2, "R squared, printed": printed}
        ranks = {"Spearman": abs(spearman(scores, accuracies)), "Spearman, printed": printed_spearman}
        yield {"method": name, **here, **ranks}


def frap(folder: Path, *classifiers: str) -> Iterator[dict[str, object]]:
    """A line for each method: mean absolute error in each setting, over settings, and as printed."""
    found = []
    for arch in classifiers:
        seen = Seen(folder, arch, 0)
        meta = seen.meta(referee=True)
        fitted = {name: clone(BASELINES[name]).fit(meta) for name in ERRORS}
        for part in ("natural", "corrupted", "few"):
            sets, truth, _ = seen.observed(part, referee=True)
            for each, labels in zip(sets, truth, strict=True):
                accuracy = float((each.predicted == labels).mean())
                setting = f"{arch}: {kind_of(part, each.set_name, accuracy)[0]}"
                for name, method in fitted.items():
                    error = 100 * abs(float(method.predict([each])[0]) - accuracy)
                    found.append({"method": name, "setting": setting, "error": error})
    means = pd.DataFrame(found).pivot_table("error", "method", "setting", sort=False)
    for name, printed in ERRORS.items():
        errors = means.loc[name]
        yield {"method": name, **errors, "mean of settings": errors.mean(), "printed": printed}


def main() -> None:
    """Measure and print."""
    parser = real.parser(__doc__, folder=False)
    parser.add_argument("name", choices=["mano", "frap"])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--classifier", action="append", help="resnet56; for frap repeatable")
    given = parser.parse_args()
    classifiers = given.classifier or ["resnet56"]
    real.require("natural.zip", "natural_more.zip", *(f"weights/{arch}.safetensors" for arch in classifiers))
    lines = [*(mano if given.name == "mano" else frap)(given.folder, *classifiers)]
    print(pd.DataFrame(lines).round(3).to_string(index=False))
    if given.write:
        record(f"published-{given.name}", lines, decimals=3 if given.name == "mano" else 2)


if __name__ == "__main__":
    main()
