"""Referees of a build: loading encoders, checking referees, packing observations; see also `probes`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from starter.classifiers import Spec, read_classifier, use_network
from starter.classifiers.specs import ZERO_SHOT
from starter.encoders import ImageEncoder
from starter.encoders.choose import EMBEDDED, LITE0, REFEREES, load_image_encoder
from starter.encoders.two_tower import TwoTowerEncoder
from starter.images.imageset import ImageSet
from starter.making.probes import ProbeImages, check_classes, encoded, fit_probes
from starter.observing.referee import Probes, packed_name, write_packed
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromRecipe, Rendering
from starter.sources.download import cache_folder
from starter.sources.splits import Splits
from starter.tracks.referees import encoder_file, know, open_referees, packed_file, probes_file
from starter.tracks.sets import PublicSets
from submission import Competition, UnusableInput

SAME = 0.995
"""Fraction of agreement from which on a referee is regarded as equal to the classifier."""
SETS, COMPARED = 10, 50
"""Numbers of meta-train sets, and of images of each, on which referee and classifier are compared."""


@dataclass(frozen=True, eq=False)
class FittedReferee:
    """A referee before it is written.

    Attributes:
        name: Name of the referee.
        encoder: Encoder of the referee.
        probes: Probes on the encoder's features.
    """

    name: str
    encoder: ImageEncoder
    probes: Probes

    @property
    def travels(self) -> bool:
        """True if participants can run the encoder: it is a file, or inside a package of the kit's extras."""
        return isinstance(self.encoder, TwoTowerEncoder) or self.probes.spec == LITE0

    def entry(self) -> dict[str, Any]:
        """Returns its entry in competition.json."""
        return {
            "name": self.name,
            "spec": self.probes.spec,
            "encoder": self.probes.encoder,
            **self.probes.figures,
        }


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
    specs: Sequence[str], device: str = "cpu", precision: str = "float32", trained: bool = True
) -> dict[str, ImageEncoder]:
    """Returns the encoder of each referee, by its spec.

    Args:
        specs: Names of encoders, see `load_image_encoder`.
        device: Device that runs the networks.
        precision: Precision of pretrained networks.
        trained: True to include the embedded encoder, which is trained if necessary; False to omit it.
    """
    names = [referee_name(spec).casefold() for spec in specs]
    for spec, name in zip(specs, names, strict=True):
        if not name.removeprefix("zero-shot-"):
            raise UnusableInput(f"--referee {spec!r} names no encoder: name {REFEREES}")
        if names.count(name) > 1:
            raise UnusableInput(
                f"--referee {spec}: two referees are called {name!r}, each needs its own name"
            )
    kept = cache_folder() / f"encoders-{version('unseen')}"
    found: dict[str, ImageEncoder] = {}
    for spec in specs:
        if spec.removeprefix(ZERO_SHOT) == EMBEDDED and not trained:
            continue
        encoder = load_image_encoder(spec, kept, device, precision)
        if own_code := Spec.parse(spec).own_code:
            use_network(own_code)
        if spec.startswith(ZERO_SHOT) and not hasattr(encoder, "encode_texts"):
            raise UnusableInput(f"--referee {spec}: the encoder encodes no texts, so it needs a probe")
        found[spec] = encoder
        know(encoder, device)
    return found


def fit_referees(
    encoders: Mapping[str, ImageEncoder],
    splits: Splits,
    recipes: Sequence[Recipe],
    seed: int,
    public: Path | None = None,
) -> list[FittedReferee]:
    """Returns every referee with its probes, from the folder `public` if they exist there already.

    The accuracy of the probes is printed.
    """
    if not encoders:
        return []
    images = ProbeImages.of(splits, recipes, seed)
    check_classes(images, splits)
    found = []
    for spec, encoder in encoders.items():
        name = referee_name(spec)
        if public and (public / probes_file(name)).is_file():
            probes = Probes.load(public / probes_file(name), len(splits.classes))
        else:
            probes = fit_probes(name, spec, encoder, splits, images, recipes, seed)
        found.append(FittedReferee(name, encoder, probes))
        print(_summary(name, probes))
    return found


def write_referees(public: Path, fitted: Iterable[FittedReferee]) -> None:
    """Write the probes, and the encoders that are files."""
    for each in fitted:
        each.probes.save(public / probes_file(each.name))
        if isinstance(each.encoder, TwoTowerEncoder):
            each.encoder.save(public / encoder_file(each.name))


def referee_files(fitted: Iterable[FittedReferee]) -> list[str]:
    """Returns the paths of the files of `write_referees` below ``public/``."""
    files = []
    for each in fitted:
        files.append(probes_file(each.name))
        files += [encoder_file(each.name)] if isinstance(each.encoder, TwoTowerEncoder) else []
    return files


def seen_files(fitted: Iterable[FittedReferee]) -> list[str]:
    """Returns the paths of the files of `pack_seen` below ``public/``."""
    return [packed_file(each.name) for each in fitted]


def referee_inputs(encoders: Mapping[str, ImageEncoder]) -> dict[str, str]:
    """Returns the name of each encoder, which identifies its weights, by option."""
    return {f"--referee {spec}": encoder.name for spec, encoder in encoders.items()}


def referee_needs(fitted: Sequence[FittedReferee]) -> tuple[str, ...]:
    """Returns the fields observed on public sets while building.

    They include features if participants cannot compute them.
    """
    if not fitted:
        return ()
    return ("referee",) if fitted[0].travels else ("referee", "referee_features")


def pack_seen(draft: Competition, fitted: Sequence[FittedReferee], device: str) -> None:
    """Write the referees' observations of all public sets, so participants need not run their encoders."""
    if not fitted:
        return
    needs, sets = referee_needs(fitted), PublicSets(draft)
    renderings: list[Rendering] = [sets.find("source", name) for name in ("reference", "train_ref")]
    renderings += [*sets.train, *sets.stored("val"), *sets.stored("test")]
    for number, referee in enumerate(open_referees(draft, device)):
        seen = {}
        for part in needs if number == 0 else ("referee",):  # only the first one keeps features
            for rendering in renderings:
                arrays = referee.load(part, rendering) or referee.compute(rendering, (part,))[part]
                seen[packed_name(part, rendering)] = next(iter(arrays.values()))
        write_packed(draft.public / packed_file(referee.name), seen)


def check_differs(
    draft: Competition, fitted: Sequence[FittedReferee], base: ImageSet, recipes: Sequence[Recipe]
) -> None:
    """Refuse a referee with the same predictions as a classifier on images of meta-train sets."""
    if not fitted:
        return
    images = np.concatenate([FromRecipe(recipe, base).render()[:COMPARED] for recipe in recipes[:SETS]])
    shown = torch.from_numpy(images).permute(0, 3, 1, 2)
    for name in draft.classifiers:
        weights = draft.file(f"classifiers/{name}.safetensors")
        mine = read_classifier(weights, name, draft.precision, engine=draft.engine)
        predicted = mine(shown)[0].argmax(dim=1).cpu().numpy()
        for each in fitted:
            judged = each.probes.logits(encoded(each.encoder, images), np.zeros(len(images), int))
            same = int((judged.argmax(axis=1) == predicted).sum())
            if same >= SAME * len(images):
                raise UnusableInput(
                    f"--referee {each.probes.spec} gives {same} of {len(images)} images the class that the "
                    f"classifier {name} gives: name an encoder that learnt from other images"
                )


def _summary(name: str, probes: Probes) -> str:
    """Returns the measured accuracies as text."""
    figures = probes.figures
    text = (
        f"referee {name} ({probes.encoder}): right for {figures['accuracy']:.1%} of the reference images, "
        f"calibration error {figures['calibration_error']:.1%}"
    )
    if "accuracy_distorted" not in figures:
        return text
    return (
        f"{text}; of training images under operations that it has not learnt "
        f"{figures['accuracy_distorted']:.1%}, {figures['calibration_error_distorted']:.1%}"
    )
