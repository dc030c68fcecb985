"""The cost of a build, estimated beforehand: images, forward passes, time and disk."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from starter.build.cells import candidates
from starter.build.folder import TRAIN_REF
from starter.build.lesson import learnt_images
from starter.build.plan import check_sizes, plan_train
from starter.build.pools import SHIFTED
from starter.build.referees import load_referees
from starter.build.room import Images, Room, count_ood, fit
from starter.build.settings import AccuracyPlan, OodPlan, Settings
from starter.classifiers import ARCHITECTURES, Classifier, classifier_name, load_classifier, new_network
from starter.classifiers.classifier import PASS
from starter.classifiers.networks.zoo import is_library
from starter.classifiers.train import duration
from starter.classifiers.weights import check_pretrained, headed
from starter.encoders import ImageEncoder
from starter.encoders.choose import of_encoders
from starter.observing.referee import half_features
from starter.sources.download import OFFICIAL
from starter.sources.glyphs.digits import CLASSES
from starter.sources.oodsets import CIFAR10, count_ind_images
from starter.sources.sources import check_own_size, load_images, load_source, set_names
from submission.arrays import Pixels

NAMED = {
    "glyphs": CLASSES,
    "cifar10": CIFAR10,
}
"""Classes of the named sources, which are neither rendered nor downloaded for an estimate."""
STATS = 3 * 4
"""Size of the image statistics of one image, in bytes."""


@dataclass(frozen=True)
class Cost:
    """The cost of a build.

    Attributes:
        images: Number of observed images per classifier: those of all sets, and the reference and training
            images.
        seconds: Time of the forward passes of all classifiers, in seconds, measured on this machine.
        disk: Size of the folder in bytes.
        candidates: Number of shifted images that are sorted into cells, with a grid; `seconds` does not
            include them.
        refereed: Time of the referees' encoders in seconds, without the embedded one, which is trained first.
        room: Mixes of the test, in the OOD track.
    """

    images: int
    seconds: float
    disk: int
    candidates: int = 0
    refereed: float = 0.0
    room: Room | None = None

    def __str__(self) -> str:
        cells = (
            f"\ngrid    about {self.candidates:,} candidates to render and to encode, beside that time"
            if self.candidates
            else ""
        )
        referees = f"\nreferee about {duration(self.refereed)} beside that time" if self.refereed else ""
        return (
            f"images  {self.images:,} per classifier\n"
            f"time    about {duration(self.seconds)} of forward passes on this machine\n"
            f"disk    about {self.disk / 1e6:,.0f} MB{cells}{referees}"
            + (f"\n{self.room}" if self.room else "")
        )


@dataclass(frozen=True)
class _Source:
    """Data of a source for an estimate: classes, image size, and numbers of images of its parts."""

    classes: tuple[str, ...]
    size: tuple[int, int] = (32, 32)
    base: int = 4000
    reference: int = 2000
    val_base: int = 1000
    test_base: int = 3000
    tested: int = 10_000
    train_ref: int = TRAIN_REF


def cost(settings: Settings, device: str = "cpu") -> Cost:
    """Returns the cost of a build, without writing or downloading anything.

    Args:
        settings: Settings of the build.
        device: Device that runs the classifiers.

    Raises:
        UnusableInput: a path in the settings cannot be used, local weights do not fit, or the device does not
            exist.
    """
    settings.plan.check_files()
    settings, source = settings.settled(device), _source(settings)
    sets = COUNTS[type(settings.plan)](settings.plan, settings, source)
    observed = sets.observed + source.reference + source.train_ref
    pixels = 3 * source.size[0] * source.size[1]
    disk = pixels * (sets.stored + source.base + source.reference + source.train_ref)
    disk += STATS * observed
    seconds = 0.0
    for spec in settings.classifiers:
        classifier = _classifier(spec, source, settings, device)
        k, d = classifier.head_weight.shape
        disk += 4 * k * observed + (sets.number + 2) * (8 * d + 4 * d * (d + 1) // 2)
        disk += sum(tensor.nbytes for tensor in classifier.network.state_dict().values())
        seconds += observed * _seconds_per_image(partial(_logits, classifier), source.size)
    refereed, packed = _referees(settings, device, source, sets.train, observed)
    made = candidates(settings) if settings.grid else 0
    return Cost(observed, seconds, disk + packed, made, refereed, sets.room)


def _referees(
    settings: Settings, device: str, source: _Source, train: int, observed: int
) -> tuple[float, int]:
    """Returns the time of referees' encoders in seconds, and the size of their archives in bytes.

    There are `train` meta-train sets, from whose operations the probes learn.
    """
    if not isinstance(settings.plan, AccuracyPlan):
        return 0.0, 0
    encoders = load_referees(settings.plan.referees, device, of_encoders(settings.precision), trained=False)
    looked = observed + source.reference + learnt_images(train)
    seconds = sum(_seconds_per_image(partial(_features, each), source.size) for each in encoders.values())
    return looked * seconds, 2 * 4 * len(source.classes) * observed * len(settings.plan.referees)


@dataclass(frozen=True)
class _Sets:
    """The numbers of sets, of meta-train sets, of observed images, and of those stored beside the base."""

    number: int
    train: int
    observed: int
    stored: int
    room: Room | None = None


def _accuracy_sets(plan: AccuracyPlan, settings: Settings, source: _Source) -> _Sets:
    recipes = plan_train(settings, plan)
    counts = {"validation": source.val_base, "test": source.test_base, "meta-train": source.base}
    check_sizes(settings, plan, recipes, counts, source.tested)
    natural = [
        len(load_images(name, source.classes, settings.set_size, settings.seed, settings.fit(source.size)))
        for path in (*plan.val_from, *settings.test_from)
        for name in set_names(path, source.classes)
    ]
    made = settings.val_sets + settings.test_sets
    stored = settings.set_size * made + sum(natural)
    rendered = sum(recipe.ops[0][1]["n"] if recipe.selection else source.base for recipe in recipes)
    number = len(recipes) + made + len(natural)
    return _Sets(number, len(recipes), rendered + stored, stored)


def _mixes(plan: OodPlan, settings: Settings, source: _Source) -> _Sets:
    """Returns the sets to observe; meta-train mixes count by their pools, other IND pools sum to the base."""
    ood = count_ood(settings, plan, source.classes)
    ind = {"train": source.base, "val": source.val_base, "test": source.test_base}
    if plan.test_ind:
        ind["test"] = count_ind_images(plan.test_ind)
    if settings.grid:  # cells, whose images are not known yet, take the place of sets
        ind["test"] -= round(SHIFTED * ind["test"])
    made = {part: {} if settings.grid and part != "train" else sets for part, sets in ood.items()}
    room = fit(settings, plan, Images(ind, made))
    train = ood["train"].values()
    mixes = (settings.val_sets + room.count) * (room.sizes.low + room.sizes.high) // 2
    observed = 2 * source.base + sum(train) + mixes
    number = len(train) + settings.val_sets + room.count + 3
    return _Sets(number, settings.train_sets, observed, mixes + sum(train), room)


COUNTS: dict[type, Callable[[Any, Settings, _Source], _Sets]] = {
    AccuracyPlan: _accuracy_sets,
    OodPlan: _mixes,
}
"""Functions that count the sets of a plan, by its type."""


def _source(settings: Settings) -> _Source:
    if settings.source in NAMED:
        check_own_size(settings.source, settings.fit())
        meta, val, test = settings.plan.named_bases
        return _Source(NAMED[settings.source], base=meta, val_base=val, test_base=test)
    splits = settings.plan.divided(load_source(settings.source, seed=settings.seed, fit=settings.fit()))
    return _Source(
        splits.classes,
        splits.image_size,
        len(splits.meta_base),
        len(splits.reference),
        len(splits.val_base),
        len(splits.test_base),
        splits.tested,
        min(TRAIN_REF, len(splits.train)),
    )


def _classifier(spec: str, source: _Source, settings: Settings, device: str) -> Classifier:
    """Returns the classifier, with untrained weights (which take as long) where its own are still to come.

    These are official ones, which a build downloads, and those of an architecture that is named alone.
    """
    name, _, weights = spec.partition("=")
    if is_library(weights):
        name, _, weights = weights.partition("=")
    if is_library(name) and not weights:
        check_pretrained(name, len(source.classes))
    precision, engine = settings.precision, settings.engine
    known = name in OFFICIAL if weights == "official" else name in ARCHITECTURES or is_library(name)
    if weights not in ("", "official") or not known:
        return load_classifier(spec, source.classes, precision, device, source.size, engine)
    with torch.random.fork_rng(devices=[]):
        network = new_network(name, len(source.classes))
    name = headed(network, name, source.size, len(source.classes))
    named, half, quarter = classifier_name(spec), (0.5,) * 3, (0.25,) * 3
    return Classifier(named, name, network, source.classes, half, quarter, precision, device, engine)


def _logits(classifier: Classifier, images: Pixels) -> torch.Tensor:
    return classifier(images)[0].cpu()


def _features(encoder: ImageEncoder, images: Pixels) -> NDArray[np.float16]:
    return half_features(encoder, torch.from_numpy(images).permute(0, 3, 1, 2))


def _seconds_per_image(look: Callable[[Pixels], object], size: tuple[int, int]) -> float:
    """Returns the time per image in seconds, measured on random images after a warm-up."""
    count = min(250, max(PASS // (size[0] * size[1]), 1))
    images = np.random.default_rng(0).integers(256, size=(count, *size, 3), dtype=np.uint8)
    look(images)
    start = time.perf_counter()
    look(images)
    return (time.perf_counter() - start) / len(images)
