"""Parts of builds common to all tracks.

A build claims its folder: it records its settings there, and no other build can run there at the same time.
The module also writes base images, classifiers, hashes and the licences of the images (one line per source,
in the participants' archive), and chooses the public test sets.
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
"""Largest number of characters of a folder's name, which is the competition's name."""


@dataclass(frozen=True)
class Claim:
    """A folder in which this process builds.

    Attributes:
        root: Folder of the competition.
        settings: Settings of the build.
        test_seed: Seed of everything hidden.
    """

    root: Path
    settings: Settings
    test_seed: int

    @property
    def path(self) -> Path:
        """The organizer's record of the build."""
        return self.root / "private/build.json"

    def record(self, **more: object) -> None:
        """Add `more` (plain JSON values) to the record, and write it."""
        begun = {"settings": self.settings.record(), "test_seed": self.test_seed}
        found = _read(self.path) if self.path.exists() else {}
        write_text(self.path, json.dumps({**begun, **found, **more}, indent=1) + "\n")
        self.path.chmod(0o600)

    def check_inputs(self, inputs: Mapping[str, str]) -> None:
        """Record the hashes of the build's inputs, or compare them with those of an earlier run.

        Raises:
            UnusableInput: an input has changed; the message names its option.
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
    """Claim `root` for a build of `settings`, or continue an earlier build of the same settings.

    A build that fails before it has written anything leaves no trace in `root`.

    Args:
        root: Folder of the competition.
        settings: Settings of the build.
        test_seed: Seed of everything hidden; by default from the system's entropy (others are for tests).
        device: Device that runs the classifiers; engine and precision are chosen for it.

    Raises:
        UnusableInput: `root` holds something else, was begun with other settings (the message names them),
            its record is damaged, or another build is running there.
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
    """Remove the files of a claim from `root`, and the folders in `new`, inner ones first."""
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
"""Licences of the named sources."""
UNKNOWN = "not stated"


def licences(source: str, licence: str, paths: Sequence[str] = (), tested: bool = False) -> str:
    """Returns the text of ``public/LICENCES.txt``.

    Sources of test sets are not named, since they would reveal the kind of shift.

    Args:
        source: Name in SOURCES, or a path.
        licence: Licence of the images at paths; "" if it is not stated.
        paths: Paths of the other images that participants get.
        tested: True if test sets come from elsewhere.

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
"""Largest number of unlabelled training images for participants (for FD, rotation head, OOD detectors)."""
PUBLIC_SHARE = 0.3
"""Fraction of the test sets that are scored publicly while the competition runs."""
SPLIT_DRAWS = 100
"""Number of random splits from which one with the required public size is taken."""


def write_bases(public: Path, splits: Splits, seed: int) -> None:
    """Write the public base images: reference, training images and meta-base."""
    write_npz(public / "base.npz", splits.meta_base)
    write_npz(public / "reference.npz", splits.reference)
    write_npz(public / "train_ref.npz", train_ref(splits, seed))


def train_ref(splits: Splits, seed: int) -> ImageSet:
    """Returns the unlabelled training images that participants get, `TRAIN_REF` or all if they are fewer."""
    return ImageSet("train_ref", splits.train.images[train_ref_order(splits, seed)[:TRAIN_REF]])


def train_ref_order(splits: Splits, seed: int) -> NDArray[np.int64]:
    """Returns the rows of the training images (n,) in random order; participants get the first ones."""
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
    """Write all classifiers' weights into the folder, and train the embedded one, `small`, if it is used."""
    for name in settings.classifier_names:
        path = public / f"classifiers/{name}.safetensors"
        if name in given:
            save_classifier(given[name], path)
        elif not path.exists():
            network = kept_small(splits.train, splits.classes, settings.seed)
            save_classifier(Classifier(name, "small", network, splits.classes, SMALL_MEAN, SMALL_STD), path)


def public_sets(planned: Sequence[tuple[str, str, str]], seed: int) -> set[str]:
    """Returns the names of the public test sets.

    They are `PUBLIC_SHARE` of all sets and, as nearly as families allow, of each group. A family is public or
    private as a whole, and every group keeps a private one: of a hundred sets 30 are public and 70 private,
    unless their families are too large. If no set would be public, the smallest family is; if there is only
    one family, its first set is.

    Args:
        planned: Name, group and family of every test set.
        seed: Seed of the draw, which must be kept private.
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
    """Returns families in random order, group by group, each if it still fits into the share so far.

    Groups without small families come first, and small families of other groups fill the remainder.
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
