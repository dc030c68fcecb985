"""How OOD detectors answer to growing corruption of real CIFAR-10 (IS-OOD, Long et al. 2024, eqs. 5 and 6).

    UNSEEN_DATA=FOLDER python benchmarks/results/severity.py DIR [--arch resnet56] [--images 400]

FOLDER holds cifar10.zip and weights/. Clean test images are IND, the same under four noises and five blurs at
severities 1 to 5 are to be told from them. Printed: correlation of AUROC with the severity, and percentage
points a level, means over the noises and over the blurs. DIR keeps observations. Detectors that need the
network are left out.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import real

from starter.detectors import by_name
from starter.detectors.metrics import auroc
from starter.images.imageset import ImageSet
from starter.observing import Observation, Source
from starter.observing.cache import Cache
from starter.observing.observe import Observer, observe_all
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromRecipe
from starter.shift.grid import correlation, sensitivity
from starter.studies.sanity import OFFLINE, SHIFTS

REFERENCE, TRAIN = 2000, 4000
SEVERITIES = (1, 2, 3, 4, 5)


def look(observer: Observer, images: ImageSet, corruption: str = "", severity: int = 0) -> Observation:
    """The images as they are, or under a corruption."""
    ops = ((corruption, {"severity": severity}),) if corruption else ()
    name = f"{images.name}-{corruption or 'clean'}-{severity}"
    rendering = FromRecipe(Recipe(name, 0, ops), replace(images, labels=None))
    return next(iter(observe_all([rendering], observer, ("features",))))


def main() -> None:
    """Observe and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--arch", default="resnet56")
    parser.add_argument("--images", type=int, default=400)
    options = parser.parse_args()
    classifier = real.classifier(options.arch)
    observer = Observer(classifier, Cache(options.folder))
    test = real.images("test", REFERENCE + options.images)
    order = np.random.default_rng(0).permutation(len(test))
    reference, images = (test.take(part) for part in np.split(order, [REFERENCE]))
    known, train = (look(observer, each) for each in (reference, real.images("train", TRAIN)))
    labels = np.asarray(reference.labels)
    source = Source(known, labels, train, classifier.head_weight, classifier.head_bias)
    fitted = {name: detector.fit(source) for name, detector in by_name(OFFLINE).items()}
    clean = look(observer, images)
    shifted = {
        kind: [[look(observer, images, name, severity) for severity in SEVERITIES] for name in corruptions]
        for kind, corruptions in SHIFTS.items()
    }
    print(
        "detector    "
        + "".join(f"{f'{kind}: {what}':>20}" for kind in SHIFTS for what in ("corr.", "points"))
    )
    for name, detector in fitted.items():
        shown = ""
        for levels in shifted.values():
            ind = detector.score(clean)
            found = [np.array([auroc(ind, detector.score(at)) for at in each]) for each in levels]
            mean = float(np.mean([correlation(each) for each in found]))
            points = 100 * float(np.mean([sensitivity(each) for each in found]))
            shown += f"{mean:20.2f}{points:20.2f}"
        print(f"{name:12}{shown}")


if __name__ == "__main__":
    main()
