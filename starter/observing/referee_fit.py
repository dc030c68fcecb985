"""Fitting referees: encoders loaded by their spec, and probes that learn training images or class names."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil
from pathlib import Path

import numpy as np
from scipy.special import softmax

from starter.data.images.imageset import ImageSet
from starter.data.sets.recipe import CHUNK
from starter.data.sets.rendering import FromRecipe
from starter.data.sources.splits import Splits
from starter.models.classifiers import Spec, use_network
from starter.models.classifiers.engine import place
from starter.models.classifiers.linear import Linear, fit_linear
from starter.models.classifiers.specs import ZERO_SHOT
from starter.models.encoders import Encoder, EncoderPair, ImageEncoder
from starter.models.encoders.choose import REFEREES, load_image_encoder
from starter.observing.cache import Cache
from starter.observing.referee import Probe, Referee, calibration_error, encoded
from starter.observing.temperature import likeliest_temperature
from submission import UnusableInput
from submission.arrays import FloatArray
from submission.progress import progress
from submission.random import TRAIN_REF_IMAGES

ENCODERS: dict[tuple[str, str], ImageEncoder] = {}
"""Encoders loaded in this process, by name and device."""
TRAIN_REF = 4000
"""Largest number of unlabelled training images for participants (for FD, rotation head, OOD detectors)."""
LEARNT = 6000
"""Largest number of training images that a probe learns."""
FEWEST = 2000
"""Fewest training images outside `train_ref` for a probe that learns no images of `train_ref`."""
DEVIATIONS = 3.0
"""Margin above the largest class frequency, in standard deviations, of a probe that is better than chance."""


def referee_file(name: str, what: str = "") -> str:
    """Returns the path below ``public/`` of a referee's probe, its ".encoder", or what it has ".seen"."""
    return f"referees/{name}{what}.safetensors"


def referee_name(spec: str) -> str:
    """Returns the name of a referee, derived from the spec of its encoder.

    >>> [referee_name(spec) for spec in ("lite0", "clip:ViT-B-32=openai", "photos/own.safetensors", "a.b:c")]
    ['lite0', 'ViT-B-32', 'own', 'c']
    """
    plain = spec.removeprefix(ZERO_SHOT)
    last = plain.partition(":")[2].partition("=")[0] if ":" in plain else Path(plain).stem
    name = re.sub(r"[^A-Za-z0-9._-]", "-", last).lstrip(".")
    return f"zero-shot-{name}" if spec.startswith(ZERO_SHOT) else name


def load_referees(
    specs: Sequence[str], device: str = "cpu", precision: str = "float32", engine: str = "torch"
) -> dict[str, ImageEncoder]:
    """Returns the encoder of each referee, by its spec."""
    names = [referee_name(spec).casefold() for spec in specs]
    found: dict[str, ImageEncoder] = {}
    for spec, name in zip(specs, names, strict=True):
        if not name.removeprefix("zero-shot-") or names.count(name) > 1:
            raise UnusableInput(
                f"--referee {spec!r} names no encoder, or one like another's: name {REFEREES}"
            )
        encoder = load_image_encoder(spec, device, precision, engine)
        if own_code := Spec.parse(spec).own_code:
            use_network(own_code)
        if spec.startswith(ZERO_SHOT) and not hasattr(encoder, "encode_texts"):
            raise UnusableInput(f"--referee {spec}: the encoder encodes no texts, so it needs a probe")
        found[spec] = ENCODERS[encoder.name, place(engine, precision, device)] = encoder
    return found


def fit_referees(
    encoders: Mapping[str, ImageEncoder],
    splits: Splits,
    seed: int,
    cache: Cache,
    where: str = "cpu",
    public: Path | None = None,
) -> tuple[Referee, ...]:
    """Returns the referees, with probes that are in the folder `public` already, or fitted and measured."""
    found = []
    for spec, encoder in encoders.items():
        name = referee_name(spec)
        if public and (file := public / referee_file(name)).is_file():
            probe = Probe.load(file, len(splits.classes))
        else:
            probe = _fit_probe(spec, encoder, splits, seed)
        load = partial(encoders.__getitem__, spec)
        found.append(Referee(name, probe, cache, encoder=load, place=where))
        figures = ", ".join(f"{key.replace('_', ' ')} {value:.1%}" for key, value in probe.figures.items())
        print(f"The referee {name}, on labelled images of the source: {figures}")
    return tuple(found)


def train_ref(splits: Splits, seed: int) -> ImageSet:
    """Returns the unlabelled training images that participants get, `TRAIN_REF` or all if they are fewer."""
    order = TRAIN_REF_IMAGES(seed).permutation(len(splits.train))
    return ImageSet("train_ref", splits.train.images[order[:TRAIN_REF]])


def learnt_images(splits: Splits, seed: int) -> ImageSet:
    """Returns the training images that a probe learns: outside `train_ref` if there are enough, else all."""
    order = TRAIN_REF_IMAGES(seed).permutation(len(splits.train))
    outside = order[TRAIN_REF:]
    return splits.train.take((outside if len(outside) >= FEWEST else order)[:LEARNT])


def _fit_probe(spec: str, encoder: ImageEncoder, splits: Splits, seed: int) -> Probe:
    """Returns the calibrated and measured probe of a referee, learnt from images or given by its texts."""
    labels, classes = splits.reference.truth, splits.classes
    known = _seen(spec, encoder, splits.reference)
    if spec.startswith(ZERO_SHOT):
        weight, bias = _of_names(encoder, classes)
    else:
        learnt = learnt_images(splits, seed)
        features = _seen(spec, encoder, learnt).astype(np.float32)
        weight, bias = fit_linear(features, learnt.truth, len(classes))
    temperature = likeliest_temperature(known @ weight.T + bias, labels)
    weight, bias = weight / temperature, bias / temperature
    likely = softmax(known @ weight.T + bias, axis=1)
    accuracy = float((likely.argmax(axis=1) == labels).mean())
    share = float(np.bincount(labels).max() / len(labels))
    if accuracy <= share + DEVIATIONS * np.sqrt(share * (1 - share) / len(labels)):
        raise UnusableInput(
            f"--referee {spec} is at chance: right for {accuracy:.1%} of {len(labels)} reference "
            f"images, and the commonest class has {share:.1%}: name an encoder that can tell these classes"
        )
    figures = {"accuracy": accuracy, "calibration_error": calibration_error(likely, labels)}
    arrays = weight.astype(np.float32), bias.astype(np.float32)
    return Probe(plain_spec(spec), encoder.name, *arrays, figures)


def _seen(spec: str, encoder: ImageEncoder, images: ImageSet) -> FloatArray:
    """Returns the features of images, float16 (n, d), with a progress bar."""
    chunks = FromRecipe.whole(images).chunks()
    title, total = f"{images.name} as {spec} sees it", ceil(len(images) / CHUNK)
    return encoded(encoder, progress(chunks, title, total, f"{CHUNK} images"))


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


def plain_spec(spec: str) -> str:
    """Returns the spec of an encoder without the organizer's folders.

    >>> plain_spec("clip:ViT-B-32=/home/ada/vit.pt"), plain_spec("a/own.safetensors"), plain_spec("lite0")
    ('clip:ViT-B-32=vit.pt', 'own.safetensors', 'lite0')
    >>> plain_spec("timm:resnet18=/home/ada/resnet18.pt")
    'timm:resnet18=resnet18.pt'
    """
    return re.sub(r"(^|=)[^=:]*[/\\]", r"\1", spec)
