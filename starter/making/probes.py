"""The probes of a referee: linear classifiers on its encoder's features of labelled training images.

Probes are fitted on training images, unchanged and under the operations of the meta-train sets, not on images
of those sets. So no set shows an image on which a probe was fitted, and cross-validation has to leave out
operations only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from tqdm import tqdm

from starter.classifiers.specs import ZERO_SHOT
from starter.encoders import Encoder, EncoderPair, ImageEncoder
from starter.images.imageset import ImageSet
from starter.observing.observe import Linear
from starter.observing.referee import (
    NO_OPERATIONS,
    WHOLE,
    Probes,
    Unseen,
    calibrated,
    calibration_error,
    fit_linear,
    half_features,
    operation_blocks,
    touched,
)
from starter.sets.recipe import Recipe
from starter.sources.splits import Splits
from submission import UnusableInput
from submission.arrays import FloatArray
from submission.random import REFEREE, TRAIN_REF_IMAGES

TRAIN_REF = 4000
"""Largest number of unlabelled training images for participants (for FD, rotation head, OOD detectors)."""
CLEAN = 4000
"""Number of unchanged training images for probes."""
DISTORTED, MOST_DISTORTED = 100, 20_000
"""Numbers of images under the operations of one meta-train set, and of all together."""
FEWEST = 2000
"""Fewest training images outside `train_ref` for probes without images of `train_ref`."""


DEVIATIONS = 3.0
"""Margin above the largest class frequency, in standard deviations, of a probe that is better than chance."""
CHUNK = 500
"""Number of images that are encoded at a time."""


def train_ref(splits: Splits, seed: int) -> ImageSet:
    """Returns the unlabelled training images that participants get, `TRAIN_REF` or all if they are fewer."""
    return ImageSet("train_ref", splits.train.images[train_ref_order(splits, seed)[:TRAIN_REF]])


def train_ref_order(splits: Splits, seed: int) -> NDArray[np.int64]:
    """Returns the rows of the training images (n,) in random order; participants get the first ones."""
    return TRAIN_REF_IMAGES(seed).permutation(len(splits.train))


def probe_pool(splits: Splits, seed: int) -> NDArray[np.int64]:
    """Returns the training images' rows for probes (m,): those outside `train_ref` if they are enough."""
    order = train_ref_order(splits, seed)
    return order[TRAIN_REF:] if len(order) >= TRAIN_REF + FEWEST else order


@dataclass(frozen=True, eq=False)
class ProbeImages:
    """The labelled training images on which probes are fitted.

    Attributes:
        images: Pixels, uint8 (n, h, w, 3).
        labels: Class indices, int64 (n,).
        rows: Row of each image in `train_ref`, int64 (n,), -1 for others.
        families: Names of the operations on each image.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    rows: NDArray[np.int64]
    families: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, splits: Splits, recipes: Sequence[Recipe], seed: int) -> "ProbeImages":
        """Returns training images, unchanged and under the operations of each recipe.

        They are images outside `train_ref` if there are enough.
        """
        assert splits.train.labels is not None
        order, pool = train_ref_order(splits, seed), probe_pool(splits, seed)
        place = np.full(len(order), -1)
        place[order[:TRAIN_REF]] = np.arange(len(order[:TRAIN_REF]))
        each = min(DISTORTED, max(1, MOST_DISTORTED // len(recipes)), len(pool))
        chosen, shown, families = [pool[:CLEAN]], [splits.train.images[pool[:CLEAN]]], [frozenset[str]()]
        for recipe in recipes:
            drawn = REFEREE(seed, recipe.name).choice(pool, each, replace=False)
            plain = Recipe(recipe.name, recipe.seed, recipe.pixel_ops)
            chosen.append(drawn)
            shown.append(plain.render(ImageSet(recipe.name, splits.train.images[drawn])).images)
            families.append(recipe.families - NO_OPERATIONS)
        of = tuple(family for family, rows in zip(families, chosen, strict=True) for _ in rows)
        rows = np.concatenate(chosen)
        return cls(np.concatenate(shown), splits.train.labels[rows], place[rows], of)

    @cached_property
    def blocks(self) -> tuple[frozenset[str], ...]:
        """The operations on them, in blocks that are left out together."""
        return operation_blocks(set(self.families))

    def left_out(self, recipes: Iterable[Recipe]) -> tuple[Unseen, ...]:
        """Returns the left-out images and operations of each probe; the first probe has none."""
        sets = {touched(recipe.families, self.blocks) for recipe in recipes}
        sets |= {frozenset(range(len(self.blocks)))}
        found = [(-1, blocks) for blocks in sorted(sets - {frozenset()}, key=sorted)]
        halves = [(half, frozenset[int]()) for half in (0, 1)] if (self.rows >= 0).any() else []
        return (WHOLE, *found, *halves)

    def seen(self, unseen: Unseen) -> NDArray[np.bool_]:
        """Returns True for the images of a probe with these left out, bool (n,)."""
        half, blocks = unseen
        foreign = np.array([bool(touched(family, self.blocks) & blocks) for family in self.families])
        return ~foreign & ((self.rows < 0) | (self.rows % 2 != half))


def fit_probes(
    name: str,
    spec: str,
    encoder: ImageEncoder,
    splits: Splits,
    images: ProbeImages,
    recipes: Sequence[Recipe],
    seed: int,
) -> Probes:
    """Returns the calibrated probes of a referee, and measures them.

    Args:
        name: Name of the referee.
        spec: Name of its encoder as the user gave it.
        encoder: Encoder of images; one that is asked for as zero-shot also encodes texts.
        splits: Splits of the source; the reference calibrates.
        images: Labelled training images.
        recipes: Recipes of the meta-train sets, which tell the probes that are needed.
        seed: Seed of the build.
    """
    reference, k = splits.reference, len(splits.classes)
    assert reference.labels is not None
    known = encoded(encoder, reference.images, f"reference as {name} sees it")
    zero_shot = spec.startswith(ZERO_SHOT)
    shown = None if zero_shot else encoded(encoder, images.images, f"training images as {name} sees them")
    unseen = (WHOLE,) if shown is None else images.left_out(recipes)
    found: list[Linear] = []
    for each in tqdm(unseen, desc=f"fit {name}", unit="probe"):
        if shown is None:
            linear = _of_names(encoder, splits.classes)
        else:
            rows = images.seen(each)
            linear = fit_linear(
                shown[rows].astype(np.float32), images.labels[rows], k, start=found[0] if found else None
            )
        if not found:
            _check_chance(spec, linear, known, reference.labels)
        found.append(calibrated(linear, known, reference.labels))
    weight, bias = (np.stack(each).astype(np.float32) for each in zip(*found, strict=True))
    public = splits.meta_base.digest, train_ref(splits, seed).digest
    blocks = () if shown is None else images.blocks
    probes = Probes(plain_spec(spec), encoder.name, weight, bias, unseen, blocks, *public, {})
    figures = _figures(probes, known, reference.labels, shown, images)
    return replace(probes, figures=figures)


def _figures(
    probes: Probes,
    known: NDArray[np.float16],
    labels: NDArray[np.int64],
    shown: NDArray[np.float16] | None,
    images: ProbeImages,
) -> dict[str, float]:
    """Returns accuracy and calibration error on the reference, plain and under left-out operations."""
    numbers = np.zeros(len(known), np.int64)
    plain = softmax(probes.logits(known, numbers).astype(np.float64), axis=1)
    figures = {
        "accuracy": float((plain.argmax(axis=1) == labels).mean()),
        "calibration_error": calibration_error(plain, labels),
    }
    distorted = np.array([bool(family) for family in images.families])
    if shown is None or not distorted.any():
        return figures
    numbers = np.array([probes.number((-1, touched(f, probes.blocks))) for f in images.families])
    judged = softmax(probes.logits(shown[distorted], numbers[distorted]).astype(np.float64), axis=1)
    truth = images.labels[distorted]
    figures["accuracy_distorted"] = float((judged.argmax(axis=1) == truth).mean())
    figures["calibration_error_distorted"] = calibration_error(judged, truth)
    return figures


def encoded(encoder: ImageEncoder, images: NDArray[np.uint8], shown: str = "") -> NDArray[np.float16]:
    """Returns the features of images (n, h, w, 3), (n, d), with a progress bar if it has a text `shown`."""
    parts = np.split(images, range(CHUNK, len(images), CHUNK))
    bar = tqdm(parts, desc=shown, unit=f"{CHUNK} images", disable=None if shown else True)
    return np.concatenate(
        [half_features(encoder, torch.from_numpy(part).permute(0, 3, 1, 2)) for part in bar]
    )


def referee_look(
    spec: str, encoder: ImageEncoder, splits: Splits, seed: int, images: ImageSet
) -> tuple[FloatArray, FloatArray]:
    """Returns an encoder's features of images (n, d), and a plain probe's confidence in each (n,)."""
    features = encoded(encoder, images.images, f"{images.name} as {spec} sees it")
    if spec.startswith(ZERO_SHOT):
        weight, bias = _of_names(encoder, splits.classes)
    else:
        plain = splits.train.take(probe_pool(splits, seed)[:CLEAN])
        assert plain.labels is not None
        known = encoded(encoder, plain.images, f"training images as {spec} sees them")
        weight, bias = fit_linear(known.astype(np.float32), plain.labels, len(splits.classes))
    return features, softmax(features.astype(np.float64) @ weight.T + bias, axis=1).max(axis=1)


def _of_names(encoder: ImageEncoder, classes: Sequence[str]) -> Linear:
    """Returns a zero-shot probe: the nearest class name, averaged over CLIP's 80 prompts, is predicted."""
    texts: Encoder = encoder  # type: ignore[assignment]
    prompts = encoder.prompts if isinstance(encoder, EncoderPair) else ("{}",)
    names = [name.replace("_", " ") for name in classes]
    rows = np.mean(
        [texts.encode_texts([prompt.format(name) for name in names]) for prompt in prompts], axis=0
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return 100.0 * rows.astype(np.float64), np.zeros(len(classes))


def check_classes(images: ProbeImages, splits: Splits) -> None:
    """Raise UnusableInput if a class has no image among them or in the reference."""
    assert splits.reference.labels is not None
    for where, labels in (("training", images.labels), ("reference", splits.reference.labels)):
        missing = np.setdiff1d(np.arange(len(splits.classes)), labels)
        if len(missing):
            raise UnusableInput(
                f"--referee: class {splits.classes[missing[0]]!r} has no image among the {where} images "
                "that a probe needs: give more images of it"
            )


def _check_chance(spec: str, linear: Linear, known: NDArray[np.float16], labels: NDArray[np.int64]) -> None:
    weight, bias = linear
    right = float(((known.astype(np.float32) @ weight.T + bias).argmax(axis=1) == labels).mean())
    share = float(np.bincount(labels).max() / len(labels))
    if right <= share + DEVIATIONS * np.sqrt(share * (1 - share) / len(labels)):
        raise UnusableInput(
            f"--referee {spec} is at chance: right for {right:.1%} of {len(labels)} reference images, and "
            f"the commonest class has {share:.1%}: name an encoder that can tell these classes"
        )


def plain_spec(spec: str) -> str:
    """Returns the spec of an encoder without the organizer's folders.

    >>> plain_spec("clip:ViT-B-32=/home/ada/vit.pt"), plain_spec("a/own.safetensors"), plain_spec("lite0")
    ('clip:ViT-B-32=vit.pt', 'own.safetensors', 'lite0')
    >>> plain_spec("timm:resnet18=/home/ada/resnet18.pt")
    'timm:resnet18=resnet18.pt'
    """
    before, mark, after = spec.partition("=" if ":" in spec else "\0")
    return f"{before}={Path(after).name}" if mark else spec if ":" in spec else Path(spec).name
