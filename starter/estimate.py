"""What a build will take, told beforehand: images, forward passes, time and disk."""

import time
from dataclasses import dataclass

import numpy as np

from starter.build import TRAIN_REF
from starter.classifiers import ARCHITECTURES, Classifier, load_classifier
from starter.glyphs import CLASSES
from starter.plan import Settings
from starter.sources import load_images, load_source, set_names

SIDE = (32, 32)
"""The image size of the named sources, which are neither rendered nor downloaded for an estimate."""
NAMED = {
    "glyphs": CLASSES,
    "cifar10": tuple(
        ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    ),
}
REFERENCE = 2000


@dataclass(frozen=True)
class Estimate:
    """The cost of a build.

    Attributes:
        images: rendered and observed, per classifier.
        seconds: of forward passes over all classifiers, from a measurement on this machine.
        disk: bytes of the folder.
    """

    images: int
    seconds: float
    disk: int

    def __str__(self) -> str:
        return (
            f"images  {self.images:,} per classifier\n"
            f"time    about {self.seconds / 3600:.2f} h of forward passes on this machine\n"
            f"disk    about {self.disk / 1e6:,.0f} MB"
        )


def estimate(settings: Settings, device: str = "cpu") -> Estimate:
    """Estimate a build without writing or downloading anything.

    Raises:
        UnusableInput: a path in the settings cannot be used, or local weights do not fit.
    """
    size, classes = SIDE, NAMED.get(settings.source, ())
    if not classes:
        splits = load_source(settings.source, seed=settings.seed)
        size, classes = splits.image_size, splits.classes
    stored = settings.set_size * (settings.val_sets + settings.test_sets)
    for path in (*settings.val_from, *settings.test_from):
        sets = (
            load_images(name, classes, settings.set_size, settings.seed, size) for name in set_names(path)
        )
        stored += sum(map(len, sets))
    observed = settings.train_sets * settings.set_size + stored + REFERENCE + TRAIN_REF
    seconds = sum(
        _seconds_per_image(spec, classes, size, settings.precision, device) for spec in settings.classifiers
    )
    pixels = 3 * size[0] * size[1]
    kept = 4 * len(classes) + 4 * 3
    disk = (stored + 3 * TRAIN_REF) * pixels + observed * kept * len(settings.classifiers)
    return Estimate(observed, observed * seconds, disk)


def _seconds_per_image(
    spec: str, classes: tuple[str, ...], size: tuple[int, int], precision: str, device: str
) -> float:
    """Measured on random images; weights that are not here yet are replaced by untrained ones."""
    name, _, weights = spec.partition("=")
    if weights in ("", "official") and name in ARCHITECTURES:
        network = ARCHITECTURES[name](len(classes))
        classifier = Classifier(name, name, network, classes, (0.5,) * 3, (0.25,) * 3, precision, device)
    else:
        classifier = load_classifier(spec, classes, precision, device)
    images = np.random.default_rng(0).integers(256, size=(250, *size, 3), dtype=np.uint8)
    classifier(images)
    start = time.perf_counter()
    classifier(images)
    return (time.perf_counter() - start) / len(images)
