"""Time and clean accuracy of training `small` on the embedded data, its accuracy under natural shift too.

python benchmarks/speed/small.py
"""

import time

import numpy as np

from starter.classifiers import Classifier
from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD, train_small
from starter.images.imageset import ImageSet
from starter.sources.glyphs.digits import CLASSES, NATURAL, glyph_splits, natural_set

PARTS = ("train", "reference", "meta_base", "val_base", "test_base")


def accuracy(classifier: Classifier, images: ImageSet) -> float:
    """In percent."""
    chunks = range(0, len(images), 500)
    predicted = [classifier(images.images[i : i + 500])[0].argmax(dim=1).numpy() for i in chunks]
    return 100 * float((np.concatenate(predicted) == images.labels).mean())


def main() -> None:
    """Train and print."""
    splits = glyph_splits(0)
    start = time.perf_counter()
    network = train_small(splits.train, len(CLASSES), seed=0)
    print(f"trained in {time.perf_counter() - start:.1f} s")
    classifier = Classifier("small", "small", network, CLASSES, SMALL_MEAN, SMALL_STD)
    for part in PARTS:
        print(f"{part:<22}{accuracy(classifier, getattr(splits, part)):.1f} %")
    for family in NATURAL:
        print(f"{family:<22}{accuracy(classifier, natural_set(family, 1000, 1, family)):.1f} %")


if __name__ == "__main__":
    main()
