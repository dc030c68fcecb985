"""OOD detectors on mixes of CIFAR-10's test images and 52 OOD sets: AUROC, and time from the cache.

    UNSEEN_DATA=FOLDER python benchmarks/results/detectors.py DIR [--write]

FOLDER holds cifar10.zip, ood.zip (<set>/<image>) and weights/. A mix has 400 test images and all of an OOD
set (400 at most); 10,000 training images and 2,000 other test images are the source. DIR keeps observations.
Detectors that need the network for each mix are left out. AUROC and FPR@95 (IND is positive) are means over
the mixes.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import real
from pages import show
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


def measured(name: str, source: Source, sets: Sequence[Observation]) -> dict[str, object]:
    """One line of the table."""
    detector = DETECTORS[name].fit(source)
    start = time.process_time()
    scores = [detector.score(each) for each in sets]
    milliseconds = 1000 * (time.process_time() - start) / len(scores)
    areas = 100 * np.mean([auroc(each[:IND], each[IND:]) for each in scores])
    passed = 100 * np.mean([fpr(each[:IND], each[IND:]) for each in scores])
    shown = {"AUROC": f"{areas:.1f}", "FPR@95": f"{passed:.1f}", "ms a mix": f"{milliseconds:.1f}"}
    return {"detector": name, **shown}


def main() -> None:
    """Measure and print."""
    options = real.parser(__doc__).parse_args()
    real.require("ood.zip", "weights/resnet56.safetensors")
    observer = Observer(real.classifier(), Cache(options.folder))
    reference, ind = real.held_out()
    source, sets = real.observed(observer, reference, real.images("train", TRAIN), *mixes(real.data(), ind))
    lines = [measured(name, source, sets) for name, each in DETECTORS.items() if not each.online]
    lines.sort(key=lambda line: -float(line["AUROC"]))
    show({"detectors-ood-sets": lines}, options.write)


if __name__ == "__main__":
    main()
