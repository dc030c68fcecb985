"""OOD by meaning at CIFAR scale: the tables of docs/results/classes.md that no command prints.

    UNSEEN_DATA=FOLDER python benchmarks/results/classes.py DIR [--images 40]

FOLDER holds cifar10.zip, cifar100.zip, tiny_imagenet.zip and weights/; WordNet 3.0 is needed. The candidates'
300 classes are assigned by similarity to CIFAR-10's, and by pruning. Printed are AUROCs of the detectors that
score from cache: each benchmark's OOD images against CIFAR-10's test images, and against the candidates' own
ID classes; and of near and far images (similarity, T45) with the 95 % interval of their difference over draws
of classes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import real
from numpy.typing import NDArray
from tqdm import tqdm

from starter.data.images.reading import Fit
from starter.data.wordnet.assign import prune, similarity_benchmark
from starter.data.wordnet.images import load_class_images
from starter.data.wordnet.labels import load_classes, match_classes
from starter.data.wordnet.manifest import ClassEntry
from starter.data.wordnet.wordnet import load_wordnet
from starter.observing.cache import Cache
from starter.observing.detectors import by_name
from starter.observing.detectors.metrics import auroc
from starter.observing.observe import Observer
from starter.studies.sanity import OFFLINE

CANDIDATES = ("cifar100", "tiny_imagenet")
TRAIN, IND, DRAWS = 4000, 3000, 1000

Scores = NDArray[np.float64]
Benchmarks = Mapping[str, Sequence[ClassEntry]]


def manifests(data: Path) -> Benchmarks:
    """The candidates' classes under each benchmark, in one order."""
    wordnet = load_wordnet()
    known = match_classes(wordnet, *load_classes("cifar10"))
    pool = [match_classes(wordnet, *load_classes(str(data / f"{name}.zip"))) for name in CANDIDATES]
    found = {f"similarity T{at}": similarity_benchmark(wordnet, known, pool, at / 100) for at in (40, 45, 50)}
    found["pruning"] = prune(wordnet, known, pool)
    return {
        name: sorted((e for e in entries if e.source in CANDIDATES), key=lambda e: (e.source, e.name))
        for name, entries in found.items()
    }


def scored(
    folder: Path, entries: Sequence[ClassEntry], images: int
) -> tuple[dict[str, tuple[Scores, Scores]], NDArray[np.int64]]:
    """The scores of IND images and of the candidates' by detector, and the class of each of the latter."""
    pool = load_class_images(entries, real.data(), Fit((32, 32)), images)
    reference, ind = real.held_out(IND)
    observer = Observer(real.classifier(), Cache(folder))
    source, seen = real.observed(observer, reference, real.images("train", TRAIN), ind, pool)
    found = {}
    for name, detector in tqdm(by_name(OFFLINE).items(), "score", unit="detector"):
        fitted = detector.fit(source)
        found[name] = fitted.score(seen[0]), fitted.score(seen[1])
    return found, pool.truth


def against_ind(
    benchmarks: Benchmarks, scores: Mapping[str, tuple[Scores, Scores]], labels: NDArray[np.int64]
) -> None:
    """Print the AUROC of each benchmark and detector."""
    print(f"| benchmark | {' | '.join(scores)} |\n| --- |{' ---: |' * len(scores)}")
    for name, entries in benchmarks.items():
        ood, own = (
            np.array([entry.assignment in kinds for entry in entries])[labels]
            for kinds in (("near", "far"), ("ID",))
        )
        rows = {name: [auroc(ind, pool[ood]) for ind, pool in scores.values()]}
        if own.any():
            rows[f"{name}, ID classes"] = [auroc(pool[own], pool[ood]) for _, pool in scores.values()]
        for title, found in rows.items():
            print(f"| {title} | {' | '.join(f'{100 * each:.1f}' for each in found)} |")


def near_and_far(
    entries: Sequence[ClassEntry], scores: Mapping[str, tuple[Scores, Scores]], labels: NDArray[np.int64]
) -> None:
    """Print the mean AUROC of near and far classes, and the interval of their difference."""
    rng = np.random.default_rng(0)
    kinds = {kind: [i for i, e in enumerate(entries) if e.assignment == kind] for kind in ("near", "far")}
    print("\n| detector | near | far | far - near | 95 % |\n| --- | ---: | ---: | ---: | ---: |")
    for name, (ind, pool) in scores.items():
        near, far = (100 * np.array([auroc(ind, pool[labels == i]) for i in rows]) for rows in kinds.values())
        drawn = [each[rng.integers(len(each), size=(DRAWS, len(each)))].mean(1) for each in (near, far)]
        low, high = np.quantile(drawn[1] - drawn[0], (0.025, 0.975))
        means = f"{near.mean():.1f} | {far.mean():.1f} | {far.mean() - near.mean():.1f}"
        print(f"| {name} | {means} | {low:.1f} to {high:.1f} |")


def main() -> None:
    """Observe, score, print."""
    parser = real.parser(__doc__, write=False)
    parser.add_argument("--images", type=int, default=40, help="of each candidate class")
    options = parser.parse_args()
    benchmarks = manifests(real.data())
    entries = benchmarks["similarity T45"]
    scores, labels = scored(options.folder, entries, options.images)
    against_ind(benchmarks, scores, labels)
    near_and_far(entries, scores, labels)


if __name__ == "__main__":
    main()
