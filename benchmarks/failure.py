"""Failure detection beside new-class detection on real CIFAR-10, as in ImageNet-OOD's tables 1, 2 and 4.

    UNSEEN_DATA=FOLDER python benchmarks/failure.py DIR [--arch resnet56] [--images 400]

FOLDER holds cifar10.zip, natural.zip (<set>/<class>/<image>), ood.zip (<set>/<image>) and weights/. IND
images are clean test images, those images under each corruption at severity 5, or natural sets of the same
classes; OOD images come from ood.zip, without its two sets of vehicles. The last tables are misclassification
detection (table VII of Recalcati et al. 2023) and how AUROC changes with severity (IS-OOD, eqs. 5 and 6). DIR
keeps observations. All but correlations are percentages; detectors that need the network are left out.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from starter.cache import Cache
from starter.classifiers import load_classifier
from starter.corruptions import CORRUPTIONS
from starter.detectors import Detector
from starter.failure import Groups
from starter.imageset import ImageSet
from starter.observation import Observation, Source
from starter.observe import Observer, observe_all
from starter.recipes import Recipe
from starter.rendering import FromRecipe
from starter.sanity import SHIFTS, chosen, ood_sets
from starter.severity import trend
from starter.sources import load_images, set_names

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
OVERLAPPING = ("cifar100_vehicles", "tinyin_vehicles_other")
REFERENCE, TRAIN, OF_AN_OOD_SET, OF_A_NATURAL_SET = 2000, 4000, 50, 150
SEVERITIES = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Labelled:
    """Observed IND sets of one kind, and whether each image is classified correctly, set by set."""

    seen: Sequence[Observation]
    correct: Sequence[np.ndarray]

    def scores(self, detector: Detector) -> np.ndarray:
        """Of all images of all sets."""
        return np.concatenate([detector.score(each) for each in self.seen])


def look(observer: Observer, sets: Sequence[ImageSet], corruption: str = "", severity: int = 5) -> Labelled:
    """The sets as they are, or under a corruption."""
    ops = ((corruption, {"severity": severity}),) if corruption else ()
    recipes = [Recipe(f"{each.name}-{corruption or 'clean'}-{severity}", 0, ops) for each in sets]
    bases = [replace(each, labels=None) for each in sets]
    renderings = [FromRecipe(recipe, base) for recipe, base in zip(recipes, bases, strict=True)]
    seen = list(observe_all(renderings, observer, ("features",)))
    return Labelled(seen, [each.predicted == images.labels for each, images in zip(seen, sets, strict=True)])


def show(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[float]], unit: float = 100) -> None:
    """Print one table."""
    print(f"\n{title}\n{'':12}{''.join(f'{column:>18}' for column in columns)}")
    for name, values in rows.items():
        print(f"{name:12}{''.join(f'{unit * value:18.{1 if unit > 1 else 2}f}' for value in values)}")


def numbers(groups: Mapping[str, Sequence[Groups]], kinds: Sequence[str]) -> None:
    """Print what the groups of each detector tell, kind by kind; the first kind is clean."""
    tables = {
        "New-class detection, AUROC: IND images of each kind against OOD": lambda g: g.new_class,
        "Failure detection, AUROC: correct images of each kind against wrong and OOD": lambda g: g.failure,
        "Correct images rejected with 80 % of the OOD images": lambda g: g.rejected_correct,
    }
    for title, number in tables.items():
        show(title, kinds, {name: list(map(number, found)) for name, found in groups.items()})
    rows = {name: (g[0].correct_ood, g[0].wrong_ood, g[0].correct_wrong) for name, g in groups.items()}
    show("AUROC between groups of clean images", ("correct/OOD", "wrong/OOD", "correct/wrong"), rows)
    rows = {name: g[0].misclassification for name, g in groups.items()}
    show("Misclassification detection, clean", ("FPR@95", "detection error", "AUROC"), rows)


def trends(observer: Observer, images: ImageSet, fitted: Mapping[str, Detector]) -> None:
    """Print how AUROC of the images against themselves under noise or blur changes with severity."""
    clean = look(observer, [images])
    rows: dict[str, list[float]] = {name: [] for name in fitted}
    for corruptions in SHIFTS.values():
        levels = [[look(observer, [images], name, at) for at in SEVERITIES] for name in corruptions]
        for name, detector in fitted.items():
            ind = clean.scores(detector)
            found = [trend(ind, [at.scores(detector) for at in each]) for each in levels]
            rows[name] += [
                float(np.mean([each.correlation for each in found])),
                100 * float(np.mean([each.sensitivity for each in found])),
            ]
    columns = [f"{kind}: {number}" for kind in SHIFTS for number in ("correlation", "points")]
    show("AUROC over severity 1 to 5: correlation, points a level", columns, rows, 1)


def main() -> None:
    """Observe and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--arch", default="resnet56")
    parser.add_argument("--images", type=int, default=400)
    options = parser.parse_args()
    data = Path(os.environ["UNSEEN_DATA"])
    classifier = load_classifier(f"{options.arch}={data / f'weights/{options.arch}.safetensors'}", CLASSES)
    observer = Observer(classifier, Cache(options.folder))
    test = load_images(data / "cifar10.zip/test", CLASSES, REFERENCE + options.images)
    order = np.random.default_rng(0).permutation(len(test))
    reference, clean = (test.take(part) for part in np.split(order, [REFERENCE]))
    train = load_images(data / "cifar10.zip/train", CLASSES, TRAIN)
    labels = np.asarray(reference.labels)
    known = look(observer, [reference, train]).seen
    source = Source(known[0], labels, known[1], classifier.head_weight, classifier.head_bias)
    fitted = {name: detector.fit(source) for name, detector in chosen([]).items()}
    under = [look(observer, [clean], name) for name in CORRUPTIONS]
    natural = [load_images(name, CLASSES, OF_A_NATURAL_SET) for name in set_names(data / "natural.zip")]
    kinds = {
        "clean": look(observer, [clean]),
        "corrupted": Labelled([each.seen[0] for each in under], [each.correct[0] for each in under]),
        "natural": look(observer, natural),
    }
    others = ood_sets(data / "ood.zip", (32, 32), OF_AN_OOD_SET)
    ood = look(observer, [each for name, each in others.items() if name not in OVERLAPPING])
    groups = {
        name: [
            Groups.of(kind.scores(detector), np.concatenate(kind.correct), ood.scores(detector))
            for kind in kinds.values()
        ]
        for name, detector in fitted.items()
    }
    parts = [f"{kind} {100 * each.accuracy:.1f} %" for kind, each in zip(kinds, groups["msp"], strict=True)]
    print(f"{options.arch}; accuracy: {', '.join(parts)}")
    numbers(groups, list(kinds))
    trends(observer, clean, fitted)


if __name__ == "__main__":
    main()
