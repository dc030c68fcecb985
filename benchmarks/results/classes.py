"""OOD by meaning at CIFAR scale: the tables of docs/results/classes.md that no command prints.

    UNSEEN_DATA=FOLDER python benchmarks/results/classes.py DIR [--images 40] [--ind 3000] [--write]

FOLDER holds cifar10.zip, cifar100.zip, tiny_imagenet.zip, ood.zip and weights/; WordNet 3.0 is needed. The
candidates' 300 classes are assigned by similarity to CIFAR-10's, and by pruning; as in FACETS, `baseline` has
one class of characters for OOD, and `inter-dataset` all candidates but those that CIFAR-10 has. Printed are
AUROCs: each benchmark's OOD images against CIFAR-10's test images, and against the candidates' own ID ones;
and of near and far images (similarity, T45) with the 95 % interval of their difference over draws of classes.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import real
from numpy.typing import NDArray
from pages import show
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
BASELINE = ClassEntry("ood", "font_chars", "", None, 3, "far")
FACETS = ("msp", "ts", "mls", "odin", "ip_ts_mls", "oodl")
"""The detectors that FACETS compares."""
TRAIN, DRAWS = 4000, 1000

Scores = NDArray[np.float64]
Kinds = Mapping[str, NDArray[np.str_]]
"""The assignment of each class under each benchmark."""


def benchmarks(data: Path) -> tuple[Sequence[ClassEntry], Kinds]:
    """The candidates' classes with the baseline's as the last, and what they are under each benchmark."""
    wordnet = load_wordnet()
    known = match_classes(wordnet, *load_classes("cifar10"))
    pool = [match_classes(wordnet, *load_classes(str(data / f"{name}.zip"))) for name in CANDIDATES]
    found = {f"similarity T{at}": similarity_benchmark(wordnet, known, pool, at / 100) for at in (40, 45, 50)}
    found["pruning"] = prune(wordnet, known, pool)
    ordered = {
        name: sorted((e for e in entries if e.source in CANDIDATES), key=lambda e: (e.source, e.name))
        for name, entries in found.items()
    }
    entries = ordered["similarity T45"]
    kinds = {name: [entry.assignment for entry in own] for name, own in ordered.items()}
    kinds["inter-dataset"] = ["far" if entry.oodness else "dropped" for entry in entries]
    whole = {name: np.array([*own, "dropped"]) for name, own in kinds.items()}
    return [*entries, BASELINE], {"baseline": np.array(["dropped"] * len(entries) + ["far"]), **whole}


def scored(
    folder: Path, entries: Sequence[ClassEntry], images: int, ind: int
) -> tuple[dict[str, tuple[Scores, Scores]], NDArray[np.int64]]:
    """The scores of IND images and of the others by detector, and the class of each of the latter."""
    candidates = load_class_images(entries[:-1], real.data(), Fit((32, 32)), images)
    baseline = load_class_images(entries[-1:], real.data(), Fit((32, 32)))
    reference, tested = real.held_out(ind)
    observer = Observer(real.classifier(), Cache(folder))
    sets = real.images("train", TRAIN), tested, candidates, baseline
    source, seen = real.observed(observer, reference, *sets)
    found = {}
    for name, detector in tqdm(by_name(dict.fromkeys((*FACETS, *OFFLINE))).items(), "score", unit="detector"):
        fitted = detector.fit(source)
        own, *others = (fitted.score(each) for each in seen)
        found[name] = own, np.concatenate(others)
    return found, np.concatenate([candidates.truth, baseline.truth + len(entries) - 1])


def against_ind(
    kinds: Kinds, scores: Mapping[str, tuple[Scores, Scores]], labels: NDArray[np.int64]
) -> Iterator[dict[str, object]]:
    """The numbers of images and the AUROC of each benchmark and detector, in percent."""
    for name, assigned in kinds.items():
        ood = np.isin(assigned, ("near", "far"))[labels]
        own = (assigned == "ID")[labels]
        whole = {each: auroc(ind, pool[ood]) for each, (ind, pool) in scores.items()}
        yield row(name, len(next(iter(scores.values()))[0]), ood.sum(), whole)
        if own.any():
            within = {each: auroc(pool[own], pool[ood]) for each, (_, pool) in scores.items()}
            yield row(f"{name}, ID classes", own.sum(), ood.sum(), within)


def row(name: str, ind: int, ood: int, areas: Mapping[str, float]) -> dict[str, object]:
    shown = {each: f"{100 * area:.1f}" for each, area in areas.items()}
    return {"benchmark": name, "IND": f"{ind:,}", "OOD": f"{ood:,}", **shown}


def near_and_far(
    assigned: NDArray[np.str_], scores: Mapping[str, tuple[Scores, Scores]], labels: NDArray[np.int64]
) -> Iterator[dict[str, object]]:
    """The mean AUROC of near and far classes, and the interval of their difference."""
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(assigned == kind) for kind in ("near", "far")]
    for name, (ind, pool) in scores.items():
        near, far = (100 * np.array([auroc(ind, pool[labels == i]) for i in rows]) for rows in classes)
        drawn = [each[rng.integers(len(each), size=(DRAWS, len(each)))].mean(1) for each in (near, far)]
        low, high = np.quantile(drawn[1] - drawn[0], (0.025, 0.975))
        means = {"near": near.mean(), "far": far.mean(), "far - near": far.mean() - near.mean()}
        interval = {"95 %": f"{low:.1f} to {high:.1f}"}
        yield {"detector": name, **{key: f"{value:.1f}" for key, value in means.items()}, **interval}


def main() -> None:
    """Observe, score, print."""
    parser = real.parser(__doc__)
    parser.add_argument("--images", type=int, default=40, help="of each candidate class")
    parser.add_argument("--ind", type=int, default=3000, help="test images of CIFAR-10")
    options = parser.parse_args()
    entries, kinds = benchmarks(real.data())
    scores, labels = scored(options.folder, entries, options.images, options.ind)
    tables = {
        "classes-detectors": list(against_ind(kinds, {name: scores[name] for name in FACETS}, labels)),
        "classes-near-far": list(near_and_far(kinds["similarity T45"], scores, labels)),
    }
    show(tables, options.write)


if __name__ == "__main__":
    main()
