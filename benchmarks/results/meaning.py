"""OOD by meaning at CIFAR scale: the last tables of docs/results/classes.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/meaning.py DIR [--arch resnet56] [--images 40] [--online 20]

FOLDER holds cifar10.zip, cifar100.zip, tiny_imagenet.zip and weights/; WordNet 3.0 is needed. The 300 classes
of the two candidates are assigned by similarity to CIFAR-10's at T40, T45 and T50, and by pruning. Printed:

- table VI of Recalcati et al. 2023: FPR@95, detection error and AUROC (IND is positive) of each benchmark's
  OOD images against CIFAR-10's test images; and against images of the candidates' own ID classes, as the
  paper has it, where there are any;
- AUROC of near and of far images (similarity, T45) against CIFAR-10's test images, every detector, with a
  95 % interval of the difference over draws of classes;
- failure detection and misclassification detection (table VII), every detector, with the 95 % interval of the
  difference from MSP over draws of images.

Detectors that run the network again (ODIN and others) see --online images of each class and `IND_ONLINE`
IND images, and table VI compares all on those; --online 0 leaves these detectors out. DIR keeps observations
and scores. All numbers are percentages.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import real
from numpy.typing import NDArray
from tqdm import tqdm

from starter.detectors import DETECTORS
from starter.detectors.metrics import auroc, detection_error, fpr
from starter.images.imageset import ImageSet
from starter.observing import Observation, Source
from starter.observing.cache import Cache
from starter.observing.observe import Observer, observe_all
from starter.sets.rendering import FromRecipe
from starter.studies.failure import Scored, auroc_table, differences_table, misclassification_table
from starter.wordnet.assign import T40, T45, T50, prune, similarity_benchmark
from starter.wordnet.images import load_class_images
from starter.wordnet.labels import load_classes, match_classes
from starter.wordnet.manifest import ClassEntry
from starter.wordnet.wordnet import load_wordnet

CANDIDATES = ("tiny_imagenet", "cifar100")
COMPARED = {"msp": "MSP", "ts": "TS", "mls": "MLV", "odin": "ODIN", "ip_ts_mls": "IP+TS+MLV", "oodl": "OODL"}
REFERENCE, TRAIN, IND, IND_ONLINE = 2000, 4000, 3000, 1000
DRAWS, IMAGE_DRAWS = 1000, 100

Scores = NDArray[np.float64]
Pair = tuple[Scores, Scores]
"""A detector's scores of IND images and of the candidates' images."""
Metric = Callable[[Scores, Scores], float]
METRICS: dict[str, Metric] = {"FPR@95": fpr, "detection error": detection_error, "AUROC": auroc}


def manifests(data: Path) -> dict[str, list[ClassEntry]]:
    """The candidates' classes under each benchmark, in one order."""
    wordnet = load_wordnet()
    known = match_classes(wordnet, *load_classes("cifar10"))
    pool = [match_classes(wordnet, *load_classes(str(data / f"{name}.zip"))) for name in CANDIDATES]
    found = {
        f"similarity T{round(100 * at)}": similarity_benchmark(wordnet, known, pool, at)
        for at in (T40, T45, T50)
    }
    found["pruning"] = list(prune(wordnet, known, pool).entries)
    return {
        name: sorted((e for e in entries if e.source in CANDIDATES), key=lambda e: (e.source, e.name))
        for name, entries in found.items()
    }


@dataclass(frozen=True)
class Shown:
    """IND images and the pool of the candidates' images that detectors see.

    Attributes:
        ind, pool: as the classifier sees them.
        correct: whether it is right about each IND image, bool (n,).
        labels: the class of each image of the pool (m,).
    """

    ind: Observation
    pool: Observation
    correct: NDArray[np.bool_]
    labels: NDArray[np.int64]


def observed(
    observer: Observer, data: Path, pool: ImageSet, online: NDArray[np.int64]
) -> tuple[Source, Shown, Shown]:
    """The labelled source; and all images, and those that detectors see which run the network again."""
    test = real.images("test", REFERENCE + IND, seed=1)
    order = np.random.default_rng(0).permutation(len(test))
    reference, ind = test.take(order[:REFERENCE], "reference"), test.take(order[REFERENCE:], "ind")
    train = real.images("train", TRAIN)
    some = (ind.take(np.arange(IND_ONLINE)), pool.take(online)) if len(online) else ()
    sets = [ImageSet(each.name, each.images) for each in (reference, train, ind, pool, *some)]
    seen = list(observe_all([FromRecipe.whole(each) for each in sets], observer, ("features",)))
    correct = seen[2].predicted == ind.labels
    assert reference.labels is not None
    assert pool.labels is not None
    classifier = observer.classifier
    head = classifier.head_weight, classifier.head_bias
    source = Source(seen[0], reference.labels, seen[1], *head, classifier)
    every = Shown(seen[2], seen[3], correct, pool.labels)
    fewer = Shown(*seen[4:], correct[:IND_ONLINE], pool.labels[online]) if some else every
    return source, every, fewer


def scored(path: Path, name: str, source: Source, shown: Shown) -> Pair:
    """The detector's scores of IND images and of the pool, which the file at `path` keeps."""
    if not path.exists():
        detector = DETECTORS[name].fit(source)
        np.savez(path, detector.score(shown.ind), detector.score(shown.pool))
    with np.load(path) as stored:
        return stored["arr_0"], stored["arr_1"]


Seen = tuple[Shown, Mapping[str, Pair]]
"""Images, and what detectors give to them."""


def rows_of(entries: Sequence[ClassEntry], labels: NDArray[np.int64], *kinds: str) -> NDArray[np.bool_]:
    """Which images are of classes so assigned, bool (n,)."""
    return np.array([entry.assignment in kinds for entry in entries])[labels]


def table_six(
    benchmarks: Mapping[str, Sequence[ClassEntry]],
    labels: NDArray[np.int64],
    scores: Mapping[str, Pair],
) -> None:
    """Print the three metrics of each benchmark and detector."""
    compared = {name: title for name, title in COMPARED.items() if name in scores}
    for title, metric in METRICS.items():
        print(f"\n{title}\n\n| benchmark | IND | OOD | {' | '.join(compared.values())} |")
        print(f"| --- | ---: | ---: |{' ---: |' * len(compared)}")
        for name, entries in benchmarks.items():
            ood, own = rows_of(entries, labels, "near", "far"), rows_of(entries, labels, "ID")
            sides = {name: [(scores[each][0], scores[each][1][ood]) for each in compared]}
            if own.any():
                sides[f"{name}, ID classes"] = [
                    (scores[each][1][own], scores[each][1][ood]) for each in compared
                ]
            for row, pairs in sides.items():
                cells = " | ".join(f"{100 * metric(*pair):.1f}" for pair in pairs)
                print(f"| {row} | {len(pairs[0][0]):,} | {ood.sum():,} | {cells} |")


def near_and_far(entries: Sequence[ClassEntry], seen: Sequence[Seen]) -> None:
    """Print AUROC of near and far images, and the interval of their difference over draws of classes."""
    rng = np.random.default_rng(0)
    kinds = {kind: [i for i, e in enumerate(entries) if e.assignment == kind] for kind in ("near", "far")}
    print("\nAUROC of near and far images\n")
    print("| detector | near | far | far - near | 95 % |\n| --- | ---: | ---: | ---: | ---: |")
    lower = 0
    for shown, scores in seen:
        for name, (ind, pool) in scores.items():
            each = {
                kind: np.array([auroc(ind, pool[shown.labels == i]) for i in rows])
                for kind, rows in kinds.items()
            }
            near, far = (float(100 * each[kind].mean()) for kind in ("near", "far"))
            drawn = [
                100
                * np.mean(each[kind][rng.integers(len(each[kind]), size=(DRAWS, len(each[kind])))], axis=1)
                for kind in ("near", "far")
            ]
            low, high = np.quantile(drawn[1] - drawn[0], (0.025, 0.975))
            lower += near < far
            print(f"| {name} | {near:.1f} | {far:.1f} | {far - near:.1f} | {low:.1f} to {high:.1f} |")
    print(f"\nnear below far: {lower} of {sum(len(scores) for _, scores in seen)} detectors (15 wanted)")


def failures(title: str, entries: Sequence[ClassEntry], shown: Shown, scores: Mapping[str, Pair]) -> None:
    """Print new-class, failure and misclassification detection, and the failure AUROC above the first's."""
    ood = rows_of(entries, shown.labels, "near", "far")
    detectors = {
        name: Scored({"clean": (ind, shown.correct)}, {"ood": pool[ood]})
        for name, (ind, pool) in scores.items()
    }
    areas = auroc_table(detectors).set_index("detector")
    found = differences_table(detectors, IMAGE_DRAWS)
    above = found[found.goal == "failure"].set_index("detector")
    wrong = misclassification_table(detectors).set_index("detector")
    print(f"\n{title}: {shown.correct.sum():,} right, {(~shown.correct).sum():,} wrong, {ood.sum():,} OOD\n")
    print("| detector | new-class AUROC | failure AUROC | above MSP | 95 % | wrong: FPR@95 | error | AUROC |")
    print(f"| --- |{' ---: |' * 7}")
    for name in detectors:
        cells = [*areas.loc[name, ["new_class", "failure"]]]
        if name in above.index:
            row = above.loc[name]
            more = f"{100 * row.difference:.1f} | {100 * row.low:.1f} to {100 * row.high:.1f}"
        else:
            more = "0 | "
        last = " | ".join(
            f"{100 * value:.1f}" for value in wrong.loc[name, ["fpr95", "detection_error", "auroc"]]
        )
        print(f"| {name} | {' | '.join(f'{100 * value:.1f}' for value in cells)} | {more} | {last} |")


def main() -> None:
    """Observe, score, print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--arch", default="resnet56")
    parser.add_argument("--images", type=int, default=40, help="of each candidate class")
    parser.add_argument("--online", type=int, default=20, help="the same for detectors that run the network")
    options = parser.parse_args()
    data = real.data()
    benchmarks = manifests(data)
    entries = benchmarks[f"similarity T{round(100 * T45)}"]
    pool = load_class_images(entries, data, (32, 32), options.images)
    assert pool.labels is not None
    rows = np.concatenate([np.flatnonzero(pool.labels == i)[: options.online] for i in range(len(entries))])
    classifier = real.classifier(options.arch)
    source, every, some = observed(Observer(classifier, Cache(options.folder / "cache")), data, pool, rows)
    scores: dict[str, Pair] = {}
    for name in tqdm(sorted(DETECTORS, key=lambda name: DETECTORS[name].online), "score", unit="detector"):
        shown, of = (some, f"-{options.online}") if DETECTORS[name].online else (every, "")
        if options.online or not DETECTORS[name].online:
            path = options.folder / f"{options.arch}-{options.images}{of}-{name}.npz"
            scores[name] = scored(path, name, source, shown)
    offline = {name: pair for name, pair in scores.items() if not DETECTORS[name].online}
    online = {name: pair for name, pair in scores.items() if DETECTORS[name].online}
    few = {name: (ind[:IND_ONLINE], pool[rows]) for name, (ind, pool) in offline.items()} | online
    print(f"{options.arch}, {len(entries)} classes; online: {', '.join(online) or 'left out'}")
    table_six(benchmarks, some.labels, few if online else offline)
    near_and_far(entries, [(every, offline), (some, online)])
    failures("All images", entries, every, offline)
    if online:
        failures("Fewer images", entries, some, {"msp": few["msp"]} | online)


if __name__ == "__main__":
    main()
