"""The real data that the results pages are measured on: in the folder that UNSEEN_DATA names.

It holds cifar10.zip (train/<class>/, test/<class>/), weights/<architecture>.safetensors and what else a
script says that it needs.
"""

import os
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from starter.data.images.imageset import ImageSet
from starter.data.sets.rendering import FromRecipe
from starter.data.sources.oodsets import CIFAR10
from starter.data.sources.sources import load_images
from starter.models.classifiers import Classifier, load_classifier
from starter.models.classifiers.engine import chosen
from starter.observing.observation import Observation, Source
from starter.observing.observe import Observer, observe_all

MORE = ("tinyin_b", "tinyin_c", "catsdogs_breeds")
"""The sets in natural_more.zip; the others are in natural.zip."""


def parser(about: str, folder: bool = True, write: bool = True) -> ArgumentParser:
    """What scripts share: their first lines as help, DIR, and --write."""
    found = ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    if folder:
        found.add_argument("folder", type=Path, metavar="DIR")
    if write:
        found.add_argument("--write", action="store_true", help="record the tables for docs/results")
    return found


def data() -> Path:
    """The folder; without one the script ends here."""
    if not (folder := os.environ.get("UNSEEN_DATA")):
        raise SystemExit(
            "error: UNSEEN_DATA must name a folder with the real data: see the script's first lines"
        )
    return Path(folder)


def require(*names: str, referee: bool = False) -> None:
    """End the script before it reads anything if a file of the folder, or the extra of lite0, is missing."""
    if missing := [name for name in ("cifar10.zip", *names) if not (data() / name).exists()]:
        raise SystemExit(f"error: {data()} lacks {', '.join(missing)}: see the script's first lines")
    if referee and not find_spec("efficientnet_lite_pytorch"):
        raise SystemExit("error: the referee lite0 is missing: pip install -e '.[referee]'")


def weights(arch: str = "resnet56", file: str = "") -> str:
    """An architecture's weights as `--classifier` takes them; `file` names others than its own."""
    return f"{arch}={data() / 'weights' / (file or arch)}.safetensors"


def classifier(arch: str = "resnet56", precision: str = "", file: str = "") -> Classifier:
    """An architecture with its weights, run as a new competition would run it."""
    engine, precision = chosen("", precision, "cpu")
    return load_classifier(weights(arch, file), CIFAR10, precision, engine=engine)


def images(part: str, limit: int | None = None, seed: int = 0) -> ImageSet:
    """CIFAR-10's "train" or "test" images, or `limit` of them drawn by `seed`."""
    return load_images(data() / "cifar10.zip" / part, CIFAR10, limit, seed=seed)


def natural(name: str, limit: int, seed: int = 0) -> ImageSet:
    """Images of a natural set, `limit` of them drawn by `seed`."""
    file = "natural_more.zip" if name in MORE else "natural.zip"
    return load_images(data() / file / name, CIFAR10, limit, seed=seed)


def held_out(others: int | None = None, reference: int = 2000) -> tuple[ImageSet, ImageSet]:
    """Test images to refer to, and so many others or all, both in random order."""
    test = images("test", reference + others if others else None, seed=1)
    order = np.random.default_rng(0).permutation(len(test))
    return test.take(order[:reference], "reference"), test.take(order[reference:], "ind")


def observed(
    observer: Observer, reference: ImageSet, *sets: ImageSet, needs: tuple[str, ...] = ("features",)
) -> tuple[Source, list[Observation]]:
    """The labelled source, whose training images come first in `sets`, and the other sets, with `needs`."""
    bare = [FromRecipe.whole(replace(each, labels=None)) for each in (reference, *sets)]
    known, train, *seen = observe_all(bare, observer, needs)
    head = observer.classifier.head_weight, observer.classifier.head_bias
    return Source(known, reference.truth, train, *head, observer.classifier), seen
