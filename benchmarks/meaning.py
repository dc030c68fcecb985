"""OOD by meaning at CIFAR scale: the last tables of docs/results-wordnet.md.

    UNSEEN_DATA=FOLDER python benchmarks/meaning.py DIR [--arch resnet56] [--images 10]

FOLDER holds cifar10.zip, cifar100.zip, tiny_imagenet.zip and weights/; WordNet 3.0 is needed. The 300 classes
of the two candidates are assigned by similarity to CIFAR-10's at T40, T45 and T50, and by pruning. Printed:

- table VI of Recalcati et al. 2023: FPR@95, detection error and AUROC (IND is positive) of each benchmark's
  OOD images against CIFAR-10's test images; and against images of the candidates' own ID classes, as the
  paper has it, where there are any;
- AUROC of near and of far images (similarity, T45) against CIFAR-10's test images, every detector, with a
  95 % interval of the difference over draws of classes.

DIR keeps observations and scores. All numbers are percentages.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.cache import Cache
from starter.classifiers import load_classifier
from starter.classimages import load_class_images
from starter.classlists import load_classes
from starter.detectors import DETECTORS
from starter.imageset import ImageSet
from starter.manifest import ClassEntry
from starter.nearest import T40, T45, T50, similarity_benchmark
from starter.observation import Observation, Source
from starter.observe import Observer, observe_all
from starter.pruning import prune
from starter.rendering import FromRecipe
from starter.sources import load_images
from starter.wordnet import load_wordnet
from submission.detection import auroc, detection_error, fpr

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CANDIDATES = ("tiny_imagenet", "cifar100")
COMPARED = {"msp": "MSP", "ts": "TS", "mls": "MLV", "odin": "ODIN", "ip_ts_mls": "IP+TS+MLV", "oodl": "OODL"}
REFERENCE, TRAIN, IND = 2000, 4000, 3000
DRAWS = 1000

Scores = NDArray[np.float64]
Metric = Callable[[Scores, Scores], float]
METRICS: dict[str, Metric] = {"FPR@95": fpr, "detection error": detection_error, "AUROC": auroc}


def manifests(data: Path) -> dict[str, list[ClassEntry]]:
    """The candidates' classes under each benchmark, in one order."""
    wordnet = load_wordnet()
    known = load_classes("cifar10").match(wordnet)
    pool = [load_classes(str(data / f"{name}.zip")).match(wordnet) for name in CANDIDATES]
    found = {
        f"similarity T{round(100 * at)}": similarity_benchmark(wordnet, known, pool, at)
        for at in (T40, T45, T50)
    }
    found["pruning"] = list(prune(wordnet, known, pool).entries)
    return {
        name: sorted((e for e in entries if e.source in CANDIDATES), key=lambda e: (e.source, e.name))
        for name, entries in found.items()
    }


def observed(observer: Observer, data: Path, pool: ImageSet) -> tuple[Source, Observation, Observation]:
    """The labelled source, and the IND test images and the pool as the classifier sees them."""
    test = load_images(data / "cifar10.zip/test", CLASSES, REFERENCE + IND, seed=1)
    order = np.random.default_rng(0).permutation(len(test))
    reference, ind = test.take(order[:REFERENCE], "reference"), test.take(order[REFERENCE:], "ind")
    train = load_images(data / "cifar10.zip/train", CLASSES, TRAIN)
    sets = [ImageSet(each.name, each.images) for each in (reference, train, ind, pool)]
    seen = list(observe_all([FromRecipe.whole(each) for each in sets], observer, ("features",)))
    assert reference.labels is not None
    classifier = observer.classifier
    head = classifier.head_weight, classifier.head_bias
    return Source(seen[0], reference.labels, seen[1], *head, classifier), seen[2], seen[3]


def scored(path: Path, name: str, source: Source, sets: Sequence[Observation]) -> tuple[Scores, ...]:
    """The detector's scores of each set, which the file at `path` keeps."""
    if not path.exists():
        detector = DETECTORS[name].fit(source)
        np.savez(path, *(detector.score(each) for each in sets))
    with np.load(path) as stored:
        return tuple(stored[f"arr_{number}"] for number in range(len(sets)))


def rows_of(entries: Sequence[ClassEntry], labels: NDArray[np.int64], *kinds: str) -> NDArray[np.bool_]:
    """Which images are of classes so assigned, bool (n,)."""
    return np.array([entry.assignment in kinds for entry in entries])[labels]


def table_six(
    benchmarks: Mapping[str, Sequence[ClassEntry]],
    labels: NDArray[np.int64],
    scores: Mapping[str, tuple[Scores, Scores]],
) -> None:
    """Print the three metrics of each benchmark and detector."""
    for title, metric in METRICS.items():
        print(f"\n{title}\n\n| benchmark | IND | OOD | {' | '.join(COMPARED.values())} |")
        print(f"| --- | ---: | ---: |{' ---: |' * len(COMPARED)}")
        for name, entries in benchmarks.items():
            ood, own = rows_of(entries, labels, "near", "far"), rows_of(entries, labels, "ID")
            sides = {name: [(scores[each][0], scores[each][1][ood]) for each in COMPARED]}
            if own.any():
                sides[f"{name}, ID classes"] = [
                    (scores[each][1][own], scores[each][1][ood]) for each in COMPARED
                ]
            for row, pairs in sides.items():
                cells = " | ".join(f"{100 * metric(*pair):.1f}" for pair in pairs)
                print(f"| {row} | {len(pairs[0][0]):,} | {ood.sum():,} | {cells} |")


def near_and_far(
    entries: Sequence[ClassEntry],
    labels: NDArray[np.int64],
    scores: Mapping[str, tuple[Scores, Scores]],
) -> None:
    """Print AUROC of near and far images, and the interval of their difference over draws of classes."""
    rng = np.random.default_rng(0)
    kinds = {kind: [i for i, e in enumerate(entries) if e.assignment == kind] for kind in ("near", "far")}
    counts = {kind: np.isin(labels, rows).sum() for kind, rows in kinds.items()}
    print(f"\nAUROC, {counts['near']:,} near and {counts['far']:,} far images\n")
    print("| detector | near | far | far - near | 95 % |\n| --- | ---: | ---: | ---: | ---: |")
    lower = 0
    for name, (ind, pool) in scores.items():
        each = {kind: np.array([auroc(ind, pool[labels == i]) for i in rows]) for kind, rows in kinds.items()}
        near, far = (float(100 * each[kind].mean()) for kind in ("near", "far"))
        drawn = [
            100 * np.mean(each[kind][rng.integers(len(each[kind]), size=(DRAWS, len(each[kind])))], axis=1)
            for kind in ("near", "far")
        ]
        low, high = np.quantile(drawn[1] - drawn[0], (0.025, 0.975))
        lower += near < far
        print(f"| {name} | {near:.1f} | {far:.1f} | {far - near:.1f} | {low:.1f} to {high:.1f} |")
    print(f"\nnear below far: {lower} of {len(scores)} detectors (15 wanted)")


def main() -> None:
    """Observe, score, print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--arch", default="resnet56")
    parser.add_argument("--images", type=int, default=10, help="of each candidate class")
    options = parser.parse_args()
    data = Path(os.environ["UNSEEN_DATA"])
    benchmarks = manifests(data)
    pool = load_class_images(benchmarks["pruning"], data, (32, 32), options.images)
    assert pool.labels is not None
    classifier = load_classifier(f"{options.arch}={data / f'weights/{options.arch}.safetensors'}", CLASSES)
    source, *sets = observed(Observer(classifier, Cache(options.folder / "cache")), data, pool)
    scores = {}
    for name in tqdm(DETECTORS, "score", unit="detector"):
        path = options.folder / f"{options.arch}-{options.images}-{name}.npz"
        ind, candidates = scored(path, name, source, sets)
        scores[name] = (ind, candidates)
    print(f"{options.arch}, {options.images} images of each of {len(benchmarks['pruning'])} classes")
    table_six(benchmarks, pool.labels, scores)
    near_and_far(benchmarks[f"similarity T{round(100 * T45)}"], pool.labels, scores)


if __name__ == "__main__":
    main()
