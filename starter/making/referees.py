"""The referees of a build: probes on an encoder's features, fitted, compared with classifiers, packed.

Probes are linear classifiers. They are fitted on training images, unchanged and under the operations of the
meta-train sets, not on images of those sets. So no set shows an image on which a probe was fitted, and
cross-validation has to leave out operations only.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from starter.classifiers import Spec, use_network
from starter.classifiers.engine import place
from starter.classifiers.specs import ZERO_SHOT
from starter.encoders import Encoder, EncoderPair, ImageEncoder
from starter.encoders.choose import LITE0, REFEREES, load_image_encoder
from starter.encoders.two_tower import TwoTowerEncoder
from starter.images.imageset import ImageSet
from starter.observing.cache import Cache
from starter.observing.observation import REFEREE, Observation
from starter.observing.observe import Linear, observe_all
from starter.observing.referee import (
    NO_OPERATIONS,
    WHOLE,
    Probes,
    Referee,
    Unseen,
    calibrated,
    calibration_error,
    fit_linear,
    half_features,
    operation_blocks,
    packed_name,
    touched,
    write_packed,
)
from starter.sets.recipe import Recipe
from starter.sources.download import cache_folder
from starter.sources.splits import Splits
from starter.tracks.sets import REFERENCES, PublicSets
from starter.tracks.subject import ENCODERS, open_observer, referee_file
from submission import Competition, UnusableInput
from submission.arrays import BoolArray, FloatArray, IntArray, Pixels
from submission.progress import progress
from submission.random import REFEREE as PROBE_IMAGES
from submission.random import TRAIN_REF_IMAGES

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
SAME = 0.995
"""Fraction of agreement from which on a referee is regarded as equal to the classifier."""


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
    """Returns the encoder of each referee, by its spec; the embedded one is trained if necessary."""
    names = [referee_name(spec).casefold() for spec in specs]
    kept = cache_folder() / f"encoders-{version('unseen')}"
    found: dict[str, ImageEncoder] = {}
    for spec, name in zip(specs, names, strict=True):
        if not name.removeprefix("zero-shot-") or names.count(name) > 1:
            raise UnusableInput(
                f"--referee {spec!r} names no encoder, or one like another's: name {REFEREES}"
            )
        encoder = load_image_encoder(spec, kept, device, precision, engine)
        if own_code := Spec.parse(spec).own_code:
            use_network(own_code)
        if spec.startswith(ZERO_SHOT) and not hasattr(encoder, "encode_texts"):
            raise UnusableInput(f"--referee {spec}: the encoder encodes no texts, so it needs a probe")
        found[spec] = ENCODERS[encoder.name, place(engine, precision, device)] = encoder
    return found


def fit_referees(
    encoders: Mapping[str, ImageEncoder],
    splits: Splits,
    recipes: Sequence[Recipe],
    seed: int,
    cache: Cache,
    where: str = "cpu",
    public: Path | None = None,
) -> tuple[Referee, ...]:
    """Returns the referees, with probes that are in the folder `public` already, or fitted and measured.

    Probes learn the training images and are calibrated on the reference; the recipes of the meta-train sets
    tell which are needed.
    """
    if not encoders:
        return ()
    images, found = ProbeImages.of(splits, recipes, seed), []
    for spec, encoder in encoders.items():
        name = referee_name(spec)
        if public and (public / referee_file(name)).is_file():
            probes = Probes.load(public / referee_file(name), len(splits.classes))
        else:
            probes = _fit_probes(spec, encoder, splits, images, recipes, seed)
        found.append(Referee(name, probes, cache, _loaded(encoder), None, where))
        figures = ", ".join(f"{key.replace('_', ' ')} {value:.1%}" for key, value in probes.figures.items())
        print(f"referee {name} ({probes.encoder}): {figures}")
    return tuple(found)


def _loaded(encoder: ImageEncoder) -> Callable[[], ImageEncoder]:
    return lambda: encoder


def write_referees(public: Path, referees: Iterable[Referee]) -> list[str]:
    """Write the probes, and the encoders that are files; returns the paths below `public`."""
    files = []
    for each in referees:
        files.append(referee_file(each.name))
        each.probes.save(public / files[-1])
        if isinstance(encoder := each.encoder(), TwoTowerEncoder):
            files.append(referee_file(each.name, ".encoder"))
            encoder.save(public / files[-1])
    return files


def referee_entry(referee: Referee) -> dict[str, Any]:
    """Returns what competition.json says of a referee."""
    probes = referee.probes
    return {"name": referee.name, "spec": probes.spec, "encoder": probes.encoder, **probes.figures}


def referee_needs(referees: Sequence[Referee]) -> tuple[str, ...]:
    """Returns the fields observed on public sets while building.

    They include features if participants cannot compute them: if the first encoder is no file, nor inside a
    package of the kit's extras.
    """
    if not referees:
        return ()
    travels = referees[0].probes.spec == LITE0 or isinstance(referees[0].encoder(), TwoTowerEncoder)
    return ("referee",) if travels else ("referee", "referee_features")


def pack_referees(draft: Competition, needs: Sequence[str], device: str) -> list[str]:
    """Write the referees' observations of all public sets, so participants need not run their encoders.

    A referee that predicts as a classifier does is refused. Returns the paths below ``public/``.
    """
    sets, files = PublicSets(draft), []
    shown = [*map(sets.find, *zip(*REFERENCES, strict=True)), *sets.train]
    shown += [*sets.stored("val"), *sets.stored("test")]
    for name in draft.classifiers:
        observer = open_observer(sets, name, ("referee",), device)
        check_differs(draft.referees, observe_all(sets.train, observer, ("referee",)))
    for number, referee in enumerate(observer.referees):
        assert isinstance(referee, Referee)
        parts = tuple(needs) if number == 0 else ("referee",)  # only the first one keeps features
        seen = {}
        for rendering in shown:
            for part, arrays in referee.read(rendering, parts).items():
                (seen[packed_name(part, rendering)],) = arrays.values()
        files.append(referee_file(referee.name, ".seen"))
        write_packed(draft.public / files[-1], seen)
    return files


def check_differs(names: Iterable[str], sets: Sequence[Observation]) -> None:
    """Refuse a referee that predicts as the classifier does on observed sets: it adds no evidence."""
    sets = list(sets)
    predicted = np.concatenate([each.predicted for each in sets])
    for name in names:
        judged = np.concatenate([each.views[f"{REFEREE}{name}"].argmax(axis=1) for each in sets])
        if (judged == predicted).mean() >= SAME:
            raise UnusableInput(
                f"--referee {name} says of each image what {sets[0].classifier} says: name an encoder that "
                "learnt from other images"
            )


def train_ref(splits: Splits, seed: int) -> ImageSet:
    """Returns the unlabelled training images that participants get, `TRAIN_REF` or all if they are fewer."""
    return ImageSet("train_ref", splits.train.images[train_ref_order(splits, seed)[:TRAIN_REF]])


def train_ref_order(splits: Splits, seed: int) -> IntArray:
    """Returns the rows of the training images (n,) in random order; participants get the first ones."""
    return TRAIN_REF_IMAGES(seed).permutation(len(splits.train))


def probe_pool(splits: Splits, seed: int) -> IntArray:
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

    images: Pixels
    labels: IntArray
    rows: IntArray
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
            drawn = PROBE_IMAGES(seed, recipe.name).choice(pool, each, replace=False)
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

    def seen(self, unseen: Unseen) -> BoolArray:
        """Returns True for the images of a probe with these left out, bool (n,)."""
        half, blocks = unseen
        foreign = np.array([bool(touched(family, self.blocks) & blocks) for family in self.families])
        return ~foreign & ((self.rows < 0) | (self.rows % 2 != half))


def _fit_probes(
    spec: str,
    encoder: ImageEncoder,
    splits: Splits,
    images: ProbeImages,
    recipes: Sequence[Recipe],
    seed: int,
) -> Probes:
    """Returns the calibrated and measured probes of a referee, or the one that its texts give."""
    labels = splits.reference.labels
    assert labels is not None
    known = encoded(encoder, splits.reference.images, f"reference as {spec} sees it")
    zero_shot = spec.startswith(ZERO_SHOT)
    shown = None if zero_shot else encoded(encoder, images.images, f"training images as {spec} sees them")
    unseen = (WHOLE,) if shown is None else images.left_out(recipes)
    found: list[Linear] = []
    for each in progress(unseen, title=f"fit {spec}", unit="probes"):
        if shown is None:
            linear = _of_names(encoder, splits.classes)
        else:
            rows, start = images.seen(each), found[0] if found else None
            features = shown[rows].astype(np.float32)
            linear = fit_linear(features, images.labels[rows], len(splits.classes), start)
        found.append(calibrated(linear, known, labels))
    weight, bias = (np.stack(each).astype(np.float32) for each in zip(*found, strict=True))
    public = splits.meta_base.digest, train_ref(splits, seed).digest
    blocks = () if shown is None else images.blocks
    probes = Probes(plain_spec(spec), encoder.name, weight, bias, unseen, blocks, *public, {})
    figures = _figures(probes.logits(known, np.zeros(len(known), np.int64)), labels)
    share = float(np.bincount(labels).max() / len(labels))
    if figures["accuracy"] <= share + DEVIATIONS * np.sqrt(share * (1 - share) / len(labels)):
        raise UnusableInput(
            f"--referee {spec} is at chance: right for {figures['accuracy']:.1%} of {len(labels)} reference "
            f"images, and the commonest class has {share:.1%}: name an encoder that can tell these classes"
        )
    distorted = np.array([bool(family) for family in images.families])
    if shown is not None and distorted.any():
        numbers = np.array([probes.number((-1, touched(each, blocks))) for each in images.families])
        logits = probes.logits(shown[distorted], numbers[distorted])
        found_there = _figures(logits, images.labels[distorted])
        figures |= {f"{name}_distorted": value for name, value in found_there.items()}
    return replace(probes, figures=figures)


def _figures(logits: FloatArray, labels: IntArray) -> dict[str, float]:
    """Returns accuracy and calibration error of logits (n, k)."""
    likely = softmax(logits.astype(np.float64), axis=1)
    accuracy = float((likely.argmax(axis=1) == labels).mean())
    return {"accuracy": accuracy, "calibration_error": calibration_error(likely, labels)}


def encoded(encoder: ImageEncoder, images: Pixels, shown: str) -> FloatArray:
    """Returns the features of images (n, h, w, 3), (n, d), with a progress bar titled `shown`."""
    parts = np.split(images, range(CHUNK, len(images), CHUNK))
    bar = progress(parts, title=shown, unit=f"{CHUNK} images")
    return np.concatenate([half_features(encoder, part) for part in bar])


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


def plain_spec(spec: str) -> str:
    """Returns the spec of an encoder without the organizer's folders.

    >>> plain_spec("clip:ViT-B-32=/home/ada/vit.pt"), plain_spec("a/own.safetensors"), plain_spec("lite0")
    ('clip:ViT-B-32=vit.pt', 'own.safetensors', 'lite0')
    >>> plain_spec("timm:resnet18=/home/ada/resnet18.pt")
    'timm:resnet18=resnet18.pt'
    """
    return re.sub(r"(^|=)[^=:]*[/\\]", r"\1", spec)
