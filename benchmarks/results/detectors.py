"""OOD detectors on mixes of CIFAR-10's test images and 52 OOD sets: their time from cache, and their AUROC.

    UNSEEN_DATA=FOLDER python benchmarks/results/detectors.py DIR

FOLDER holds cifar10.zip, ood.zip (<set>/<image>) and weights/. A mix has 400 test images and all of an OOD
set (400 at most); 10,000 training images and 2,000 other test images are the source. DIR keeps observations.
Detectors that need the network are timed on four mixes, evenly chosen by name. AUROC and FPR@95 (IND is
positive) are means over the mixes.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import real
from tqdm import tqdm

from starter.data.images.files import open_tree
from starter.data.images.imageset import ImageSet
from starter.data.images.reading import read_images
from starter.observing.cache import Cache
from starter.observing.detectors import DETECTORS
from starter.observing.detectors.metrics import auroc, fpr
from starter.observing.observation import Observation, Source
from starter.observing.observe import Observer

IND, TRAIN = 400, 10_000


def mixes(data: Path, test: ImageSet) -> list[ImageSet]:
    """One mix for each OOD set, IND images first; each draws its own."""
    rng, found = np.random.default_rng(0), []
    with open_tree(data / "ood.zip") as tree:
        for name in tqdm(tree.folders(1), desc="read", unit="set"):
            ood = read_images(tree.below(name), tree.below(name).images(0))[0]
            ind = test.images[rng.choice(len(test), IND, replace=False)]
            found.append(ImageSet(name, np.concatenate([ind, ood])))
    return found


def measured(name: str, source: Source, sets: Sequence[Observation]) -> str:
    """One line of the table."""
    start = time.perf_counter()
    detector = DETECTORS[name].fit(source)
    fitted = time.perf_counter()
    scores = [detector.score(each) for each in sets]
    end = time.perf_counter()
    areas = np.mean([auroc(each[:IND], each[IND:]) for each in scores])
    passed = np.mean([fpr(each[:IND], each[IND:]) for each in scores])
    return f"{name:12}{fitted - start:8.2f}{(end - fitted) / len(scores):14.3f}{areas:8.3f}{passed:8.3f}"


def main() -> None:
    """Measure and print."""
    options = real.parser(__doc__, write=False).parse_args()
    real.require("ood.zip", "weights/resnet56.safetensors")
    observer = Observer(real.classifier(), Cache(options.folder))
    reference, ind = real.held_out()
    source, sets = real.observed(observer, reference, real.images("train", TRAIN), *mixes(real.data(), ind))
    print(f"{len(sets)} mixes of {np.mean([len(each) for each in sets]):.0f} images\n")
    print(f"{'detector':12}{'fit, s':>8}{'a mix, s':>14}{'AUROC':>8}{'FPR@95':>8}")
    few = [sets[int(i)] for i in np.linspace(0, len(sets) - 1, 4)]
    for name, detector in DETECTORS.items():
        row = measured(name, source, few if detector.online else sets)
        print(row, f"over {len(few)} mixes" if detector.online else "", flush=True)


if __name__ == "__main__":
    main()
