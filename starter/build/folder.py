"""Claiming a folder for one build: what it was begun with, and that nobody else builds there at the time.

The licences of a competition's images: one line a source, which travels in the participants' archive.

What the builds of all tracks have in common: bases, classifiers, public test sets, hashes.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from starter.build.settings import Settings, read_settings
from starter.build.small import kept_small
from starter.classifiers import Classifier, classifier_name, load_classifier, save_classifier
from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD
from starter.images.arrays import write_npz
from starter.images.imageset import ImageSet
from starter.observing.cache import ELSEWHERE
from starter.sources.splits import Splits
from submission import UnusableInput
from submission.files import ABANDONED, sha256, sweep, write_text
from submission.random import PUBLIC, TRAIN_REF_IMAGES

LONGEST_NAME = 200
"""Characters of a folder's name, which is the competition's."""


@dataclass(frozen=True)
class Claim:
    """A folder that this process builds in.

    Attributes:
        root: the competition's folder.
        settings: what is built.
        test_seed: of everything hidden.
    """

    root: Path
    settings: Settings
    test_seed: int

    @property
    def path(self) -> Path:
        """The organizer's record of the build."""
        return self.root / "private/build.json"

    def record(self, **more: object) -> None:
        """Write what the record holds so far, and `more` (plain JSON values)."""
        begun = {"settings": self.settings.record(), "test_seed": self.test_seed}
        found = _read(self.path) if self.path.exists() else {}
        write_text(self.path, json.dumps({**begun, **found, **more}, indent=1) + "\n")
        self.path.chmod(0o600)

    def check_inputs(self, inputs: Mapping[str, str]) -> None:
        """Keep the hashes of what the build reads; or compare them, where it was begun before.

        Raises:
            UnusableInput: something has changed since; the option that names it is told.
        """
        found = _read(self.path).get("inputs")
        if found is None:
            self.record(inputs=dict(inputs))
        elif found != inputs:
            changed = sorted(
                name for name in found.keys() | inputs.keys() if found.get(name) != inputs.get(name)
            )
            raise UnusableInput(
                f"{changed[0]} has changed since {self.root} was begun: restore it, or name another folder"
            )


@contextmanager
def claimed(root: Path, settings: Settings, test_seed: int | None, device: str = "cpu") -> Iterator[Claim]:
    """Take `root` for a build of `settings`, alone; or find that it was taken for the same ones before.

    A build that fails before it has made anything leaves no trace: `root` is as it was.

    Args:
        root: the competition's folder.
        settings: what is built.
        test_seed: of everything hidden; drawn from the system's entropy unless given (for tests).
        device: where classifiers run, by which engine and precision are settled.

    Raises:
        UnusableInput: `root` holds something else, was begun with other settings (they are named), its record
            is damaged, or another build is at work there.
    """
    if test_seed is not None and not 0 <= test_seed < 2**63:
        raise UnusableInput(f"--test-seed must lie in 0..2^63 - 1, got {test_seed}")
    name = root.resolve().name
    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise UnusableInput(
            f"{name!r} cannot name a competition: at most {LONGEST_NAME} printable characters"
        )
    record = root / "private/build.json"
    if not record.exists() and root.exists() and any(path.name != "private" for path in root.iterdir()):
        raise UnusableInput(f"{root} is not empty and was not made by `unseen build`: name another folder")
    begun, new = not record.exists(), [folder for folder in (record.parent, root) if not folder.exists()]
    record.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        with FileLock(record.with_name(".lock"), blocking=False):
            try:
                yield _begun(root, settings, test_seed, device)
            except Exception:
                if begun and not any((root / made).exists() for made in ("public", "cache")):
                    _remove_traces(root, new)
                raise
    except Timeout:
        raise UnusableInput(
            f"another build is at work in {root}: wait for it, or name another folder"
        ) from None


def _begun(root: Path, settings: Settings, test_seed: int | None, device: str) -> Claim:
    record = root / "private/build.json"
    if not record.exists() or not (root / "public").exists():
        seed = secrets.randbits(63) if test_seed is None else test_seed
        claim = Claim(root, settings.settled(device), seed)
        record.unlink(missing_ok=True)
        claim.record()
        return claim
    found = _read(record)
    before = read_settings(found["settings"])
    settings = settings.settled(device, before)
    differences = before.differences(settings)
    if test_seed is not None and test_seed != found["test_seed"]:
        differences.append("--test-seed: another one than the folder was begun with")
    if differences:
        raise UnusableInput(
            f"{root} was built with other settings; name another folder.\n  " + "\n  ".join(differences)
        )
    sweep(root, age=ABANDONED if (root / "public/competition.json").exists() else 0)
    return Claim(root, settings, found["test_seed"])


def _remove_traces(root: Path, new: Sequence[Path]) -> None:
    """Remove what a claim has put in `root`, and the folders that are `new`, the inner first."""
    for trace in ("private/build.json", ELSEWHERE, "private/.lock"):
        (root / trace).unlink(missing_ok=True)
    for folder in new:
        with suppress(OSError):  # something else was put there meanwhile
            folder.rmdir()


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        read_settings(found["settings"])
        if not 0 <= found["test_seed"] < 2**63:
            raise ValueError("test_seed")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnusableInput(
            f"{path} is damaged ({type(error).__name__}: {error}): restore it from a copy, or name "
            "another folder"
        ) from error
    return found


NAMED = {
    "cifar10": (
        "its authors state none (https://www.cs.toronto.edu/~kriz/cifar.html); cite A. Krizhevsky, Learning "
        "Multiple Layers of Features from Tiny Images, 2009"
    ),
    "glyphs": (
        "rendered from what these ship: scikit-learn (BSD-3-Clause; UCI's handwritten digits, CC BY 4.0; "
        "photographs china.jpg and flower.jpg, CC BY 2.0), Matplotlib (its licence; typefaces DejaVu, STIX "
        "and Computer Modern; sample data) and OpenCV (Apache-2.0; Hershey fonts)"
    ),
}
"""The licences of the sources that have a name."""
UNKNOWN = "not stated"


def licences(source: str, licence: str, paths: Sequence[str] = (), tested: bool = False) -> str:
    """Returns the text of ``public/LICENCES.txt``.

    Sources of test sets are not named: that would tell their kind.

    Args:
        source: a name in SOURCES, or a path.
        licence: of the images at paths; "" where it is not stated.
        paths: of the other images that participants get.
        tested: whether test sets come from elsewhere.

    >>> print(licences("photos", "CC0 1.0", tested=True), end="")
    photos: CC0 1.0
    test sets from elsewhere: CC0 1.0
    """
    given = licence or UNKNOWN
    lines = {source: NAMED.get(source, given)} | dict.fromkeys(paths, given)
    text = "".join(f"{_last(path)}: {terms}\n" for path, terms in lines.items())
    return text + (f"test sets from elsewhere: {given}\n" if tested else "")


def _last(path: str) -> str:
    return Path(path).absolute().name


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
    """Returns the unlabelled training images that participants get, `TRAIN_REF` or all if they are fewer."""
    return ImageSet("train_ref", splits.train.images[train_ref_order(splits, seed)[:TRAIN_REF]])


def train_ref_order(splits: Splits, seed: int) -> NDArray[np.int64]:
    """Returns the training images (n,) in random order, those that participants get first."""
    return TRAIN_REF_IMAGES(seed).permutation(len(splits.train))


def given_classifiers(settings: Settings, splits: Splits, device: str) -> dict[str, Classifier]:
    """Returns the classifiers of the settings by name, except the embedded `small`, which is trained here."""
    return {
        classifier_name(spec): load_classifier(
            spec, splits.classes, settings.precision, device, splits.image_size, settings.engine
        )
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
            network = kept_small(splits.train, splits.classes, settings.seed)
            save_classifier(Classifier(name, "small", network, splits.classes, SMALL_MEAN, SMALL_STD), path)


def public_sets(planned: Sequence[tuple[str, str, str]], seed: int) -> set[str]:
    """Returns the sets whose score is public.

    `PUBLIC_SHARE` of all and, as nearly as families allow, of each group.

    A family is public or private as a whole, and every group keeps a private one. So a hundred sets have 30
    public and 70 private ones unless their families are too large. Where nothing would be public, the
    smallest family is; where there is one family in all, its first set.

    Args:
        planned: name, group and family of every test set.
        seed: of the draw, which must be kept private.
    """
    rng = PUBLIC(seed)
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
    """Returns families in random order, group by group, each that still fits into the share so far.

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
    """Returns the SHA-256 of each file below `public`."""
    return {file: sha256(public / file) for file in files}
