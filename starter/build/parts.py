"""What the builds of all tracks have in common: bases, classifiers, public test sets, hashes."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from starter.build.plan import Settings
from starter.classifiers import Classifier, load_classifier, save_classifier
from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD, train_small
from starter.images.arrays import write_npz
from starter.images.imageset import ImageSet
from starter.sources.splits import Splits
from submission.files import sha256

TRAIN_REF = 4000
"""How many unlabelled training images participants get (FD, rotation head and the OOD detectors use them)."""
PUBLIC_SHARE = 0.3
"""The part of the test sets whose score is public while the competition runs: 30 of 100 or more."""
SPLIT_DRAWS = 100
"""How many random splits are drawn, to take one whose public part has the size wanted."""


def write_bases(public: Path, splits: Splits, seed: int) -> None:
    """The images that methods may learn from."""
    write_npz(public / "base.npz", splits.meta_base)
    write_npz(public / "reference.npz", splits.reference)
    write_npz(public / "train_ref.npz", train_ref(splits, seed))


def train_ref(splits: Splits, seed: int) -> ImageSet:
    """The unlabelled training images that participants get, `TRAIN_REF` or all where there are fewer."""
    rng = np.random.Generator(np.random.Philox(key=[seed, 11]))
    chosen = rng.permutation(len(splits.train))[:TRAIN_REF]
    return ImageSet("train_ref", splits.train.images[chosen])


def given_classifiers(settings: Settings, splits: Splits, device: str) -> dict[str, Classifier]:
    """The classifiers of the settings by name, without the embedded one, `small`, which is trained here."""
    return {
        spec.partition("=")[0]: load_classifier(spec, splits.classes, settings.precision, device)
        for spec in settings.classifiers
        if spec != "small"
    }


def write_classifiers(
    public: Path, given: Mapping[str, Classifier], splits: Splits, settings: Settings
) -> None:
    """Put all classifiers' weights in the folder, training the embedded one, `small`, which is not given."""
    for name in settings.classifier_names:
        path = public / f"classifiers/{name}.safetensors"
        if name in given:
            save_classifier(given[name], path)
        elif not path.exists():
            network = train_small(splits.train, len(splits.classes), settings.seed)
            save_classifier(Classifier(name, "small", network, splits.classes, SMALL_MEAN, SMALL_STD), path)


def public_sets(planned: Sequence[tuple[str, str, str]], seed: int) -> set[str]:
    """The sets whose score is public: `PUBLIC_SHARE` of all and, as nearly as families allow, of each group.

    A family is public or private as a whole, and every group keeps a private one. So a hundred sets have 30
    public and 70 private ones unless their families are too large. Where nothing would be public, the
    smallest family is; where there is one family in all, its first set.

    Args:
        planned: name, group and family of every test set.
        seed: of the draw, which must be kept private.
    """
    rng = np.random.Generator(np.random.Philox(key=[seed, 13]))
    families: dict[tuple[str, str], list[str]] = {}
    for name, group, family in planned:
        families.setdefault((group, family), []).append(name)
    wanted = round(PUBLIC_SHARE * len(planned))
    draws = (_draw_public(families, rng) for _ in range(SPLIT_DRAWS))
    public = min(draws, key=lambda drawn: abs(len(drawn) - wanted))
    if not public:
        smallest = min(families.values(), key=len)
        public = smallest if len(families) > 1 else smallest[:1]
    return set(public)


def _draw_public(families: Mapping[tuple[str, str], Sequence[str]], rng: np.random.Generator) -> list[str]:
    """Families in random order, group by group, each that still fits into the share of the groups so far.

    Groups without small families come first: what they leave over, small families of the others fill.
    """
    groups: dict[str, list[Sequence[str]]] = {}
    for (group, _), sets in sorted(families.items()):
        groups.setdefault(group, []).append(sets)
    public: list[str] = []
    seen = 0
    for found in sorted(groups.values(), key=lambda found: -min(map(len, found))):
        seen += sum(map(len, found))
        for i in rng.permutation(len(found))[:-1]:
            if len(public) + len(found[i]) <= round(PUBLIC_SHARE * seen):
                public += found[i]
    return public


def hashes(public: Path, files: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each file below `public`."""
    return {file: sha256(public / file) for file in files}
