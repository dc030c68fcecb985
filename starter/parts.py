"""What the builds of all tracks have in common: bases, classifiers, public test sets, hashes."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from starter.classifiers import Classifier, load_classifier, save_classifier
from starter.classifiers.small import SMALL_MEAN, SMALL_STD, train_small
from starter.imageset import ImageSet
from starter.npz import write_npz
from starter.plan import Settings
from starter.splits import Splits
from submission.files import sha256

TRAIN_REF = 4000
"""How many unlabelled training images participants get (FD, rotation head and the OOD detectors use them)."""
PUBLIC_SHARE = 0.3
"""The part of each group's test sets whose score is public while the competition runs."""


def write_bases(public: Path, splits: Splits, seed: int) -> None:
    """The images that methods may learn from."""
    rng = np.random.Generator(np.random.Philox(key=[seed, 11]))
    chosen = rng.permutation(len(splits.train))[:TRAIN_REF]
    write_npz(public / "base.npz", splits.meta_base)
    write_npz(public / "reference.npz", splits.reference)
    write_npz(public / "train_ref.npz", ImageSet("train_ref", splits.train.images[chosen]))


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


def public_sets(planned: Iterable[tuple[str, str, str]], seed: int) -> set[str]:
    """The sets whose score is public: per group, whole families until they are `PUBLIC_SHARE` of its sets.

    Every group keeps a private family. Where that leaves nothing public (one family a group), the smallest
    family is; where there is one family in all, its first set is.

    Args:
        planned: name, group and family of every test set.
        seed: of the draw, which must be kept private.
    """
    rng = np.random.Generator(np.random.Philox(key=[seed, 13]))
    families: dict[tuple[str, str], list[str]] = {}
    for name, group, family in planned:
        families.setdefault((group, family), []).append(name)
    public: set[str] = set()
    for group in sorted({group for group, _ in families}):
        keys = sorted(key for key in families if key[0] == group)
        wanted = PUBLIC_SHARE * sum(len(families[key]) for key in keys)
        chosen: list[str] = []
        for i in rng.permutation(len(keys))[:-1]:
            if len(chosen) < wanted:
                chosen += families[keys[i]]
        public.update(chosen)
    if not public:
        smallest = min(families.values(), key=len)
        public.update(smallest if len(families) > 1 else smallest[:1])
    return public


def hashes(public: Path, files: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each file below `public`."""
    return {file: sha256(public / file) for file in files}
