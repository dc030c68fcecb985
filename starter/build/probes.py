"""Fitting a referee's probes to a lesson, on the features of its encoder."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from tqdm import tqdm

from starter.build.folder import train_ref
from starter.build.lesson import Lesson
from starter.encoders import Encoder, ImageEncoder
from starter.encoders.choose import ZERO_SHOT
from starter.encoders.clip import ClipEncoder, clip_templates
from starter.observing.probe import Linear, calibrated, calibration_error, fit_linear
from starter.observing.referee import WHOLE, Probes, half_features, touched
from starter.sets.recipe import Recipe
from starter.sources.splits import Splits
from submission import UnusableInput

DEVIATIONS = 3.0
"""Margin above the largest class frequency, in standard deviations, of a probe that is better than chance."""
CHUNK = 500
"""Number of images that are encoded at a time."""


def fit_probes(
    name: str,
    spec: str,
    encoder: ImageEncoder,
    splits: Splits,
    lesson: Lesson,
    recipes: Sequence[Recipe],
    seed: int,
) -> Probes:
    """Returns the calibrated probes of a referee, and measures them.

    Args:
        name: Name of the referee.
        spec: Name of its encoder as the user gave it.
        encoder: Encoder of images; one that is asked for as zero-shot also encodes texts.
        splits: Splits of the source; the reference calibrates.
        lesson: Labelled training images.
        recipes: Recipes of the meta-train sets, which tell the probes that are needed.
        seed: Seed of the build.

    Raises:
        UnusableInput: the encoder cannot encode the images, or a probe is at chance.
    """
    reference, k = splits.reference, len(splits.classes)
    assert reference.labels is not None
    known = encoded(encoder, reference.images, f"reference as {name} sees it")
    zero_shot = spec.startswith(ZERO_SHOT)
    shown = None if zero_shot else encoded(encoder, lesson.images, f"training images as {name} sees them")
    unseen = (WHOLE,) if shown is None else lesson.left_out(recipes)
    found: list[Linear] = []
    for each in tqdm(unseen, desc=f"fit {name}", unit="probe"):
        if shown is None:
            linear = _of_names(encoder, splits.classes)
        else:
            rows = lesson.seen(each)
            linear = fit_linear(
                shown[rows].astype(np.float32), lesson.labels[rows], k, start=found[0] if found else None
            )
        if not found:
            _check_chance(spec, linear, known, reference.labels)
        found.append(calibrated(linear, known, reference.labels))
    weight, bias = (np.stack(each).astype(np.float32) for each in zip(*found, strict=True))
    public = splits.meta_base.digest, train_ref(splits, seed).digest
    blocks = () if shown is None else lesson.blocks
    probes = Probes(told_spec(spec), encoder.name, weight, bias, unseen, blocks, *public, {})
    figures = _figures(probes, known, reference.labels, shown, lesson)
    return replace(probes, figures=figures)


def _figures(
    probes: Probes,
    known: NDArray[np.float16],
    labels: NDArray[np.int64],
    shown: NDArray[np.float16] | None,
    lesson: Lesson,
) -> dict[str, float]:
    """Returns accuracy and calibration error on the reference, plain and under left-out operations."""
    numbers = np.zeros(len(known), np.int64)
    plain = softmax(probes.logits(known, numbers).astype(np.float64), axis=1)
    figures = {
        "accuracy": float((plain.argmax(axis=1) == labels).mean()),
        "calibration_error": calibration_error(plain, labels),
    }
    distorted = np.array([bool(family) for family in lesson.families])
    if shown is None or not distorted.any():
        return figures
    numbers = np.array([probes.number((-1, touched(f, probes.blocks))) for f in lesson.families])
    judged = softmax(probes.logits(shown[distorted], numbers[distorted]).astype(np.float64), axis=1)
    truth = lesson.labels[distorted]
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


def _of_names(encoder: ImageEncoder, classes: Sequence[str]) -> Linear:
    """Returns a zero-shot probe: the nearest class name, averaged over CLIP's 80 prompts, is predicted."""
    texts: Encoder = encoder  # type: ignore[assignment]
    prompts = clip_templates() if isinstance(encoder, ClipEncoder) else ("{}",)
    names = [name.replace("_", " ") for name in classes]
    rows = np.mean(
        [texts.encode_texts([prompt.format(name) for name in names]) for prompt in prompts], axis=0
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return 100.0 * rows.astype(np.float64), np.zeros(len(classes))


def check_classes(lesson: Lesson, splits: Splits) -> None:
    """Raise UnusableInput if a class has no image in the lesson or in the reference."""
    assert splits.reference.labels is not None
    for where, labels in (("training", lesson.labels), ("reference", splits.reference.labels)):
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


def told_spec(spec: str) -> str:
    """Returns the spec of an encoder without the organizer's folders.

    >>> told_spec("clip:ViT-B-32=/home/ada/vit.pt"), told_spec("photos/own.safetensors"), told_spec("lite0")
    ('clip:ViT-B-32=vit.pt', 'own.safetensors', 'lite0')
    >>> told_spec("timm:resnet18=/home/ada/resnet18.pt")
    'timm:resnet18=resnet18.pt'
    """
    before, mark, after = spec.partition("=" if ":" in spec else "\0")
    return f"{before}={Path(after).name}" if mark else spec if ":" in spec else Path(spec).name
