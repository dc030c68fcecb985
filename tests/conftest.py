"""Small competitions: one really built, once a run, and copies of it; one of made-up numbers, without images."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import hypothesis
import numpy as np
import pytest

from starter.build.accuracy import build
from starter.build.plan import Settings
from starter.build.settings import MixSettings
from starter.classifiers import Classifier, save_classifier
from starter.classifiers.networks import user as user_network
from starter.classifiers.networks.small import SMALL_MEAN, SMALL_STD, train_small
from starter.sources.glyphs.digits import CLASSES, glyph_splits
from submission import Competition, SolutionRow, write_predictions, write_sample, write_solution
from submission.files import sha256

TEST_SEED = 11

# What is compiled on first use takes longer than hypothesis' deadline; a busy machine does too.
hypothesis.settings.register_profile("unseen", deadline=None)
hypothesis.settings.load_profile("unseen")


def small_settings(weights: Path, **changes: object) -> Settings:
    """A competition of 12 + 6 + 12 sets of 60 images."""
    settings = {
        "classifiers": (f"tiny={weights}",),
        "train_sets": 12,
        "val_sets": 6,
        "test_sets": 12,
        "set_size": 60,
        "ops_per_set": (1, 3),
        **changes,
    }
    return Settings(**settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def forgotten_networks() -> Iterator[None]:
    """Networks of the user's that a test names are not known to the next."""
    before = dict(user_network._used)
    yield
    user_network._used.clear()
    user_network._used.update(before)


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of `small`, trained on a quarter of the embedded training images."""
    splits = glyph_splits(0)
    network = train_small(splits.train.take(range(4000)), len(CLASSES), seed=0, progress=False)  # type: ignore[arg-type]
    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    save_classifier(Classifier("tiny", "small", network, CLASSES, SMALL_MEAN, SMALL_STD), path)
    return path


@pytest.fixture(scope="session")
def settings(weights: Path) -> Callable[..., Settings]:
    """Settings of a small competition, with changes."""

    def changed(**changes: object) -> Settings:
        return small_settings(weights, **changes)

    return changed


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, settings: Callable[..., Settings]) -> Competition:
    """A built competition that no test may change; what tests observe of it goes into its cache, though."""
    return _kept(build(tmp_path_factory.mktemp("built") / "contest", settings(), TEST_SEED))


def _kept(competition: Competition) -> Competition:
    """The competition, with a copy beside it in ``fresh``, as it was when it was built."""
    shutil.copytree(competition.root, competition.root.parent / "fresh")
    return competition


@pytest.fixture
def contest(built: Competition, tmp_path: Path) -> Competition:
    """A copy of the built competition that a test may change."""
    shutil.copytree(built.root, tmp_path / "contest")
    return Competition.open(tmp_path / "contest")


@pytest.fixture(scope="session")
def ood_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven families of small OOD data sets, one folder each, some with class folders: digits turned over and
    the more hidden by noise the further the set stands in the alphabet.
    """
    root = tmp_path_factory.mktemp("ood")
    rng, digits = np.random.default_rng(0), glyph_splits(0).train.images
    for number, name in enumerate(("a_1", "a_2", "b", "c", "d", "e", "f", "g")):
        turned = digits[rng.permutation(len(digits))[:70], ::-1].astype(np.float64)
        noise = rng.integers(256, size=turned.shape)
        images = (turned + number / 10 * (noise - turned)).astype(np.uint8)
        folder = root / name / ("class" if name == "b" else ".")
        folder.mkdir(parents=True)
        for i, image in enumerate(images):
            cv2.imwrite(str(folder / f"{i:03d}.png"), image)
    return root


@pytest.fixture(scope="session")
def mix_settings(weights: Path, ood_folder: Path) -> Callable[..., MixSettings]:
    """Settings of a small competition of the OOD track, with changes."""

    def changed(**changes: object) -> MixSettings:
        settings = {
            "classifiers": (f"tiny={weights}",),
            "ood": str(ood_folder),
            "train_sets": 12,
            "val_sets": 4,
            "test_sets": 8,
            "set_size": 80,
            "detectors": ("msp", "energy"),
            **changes,
        }
        return MixSettings(**settings)  # type: ignore[arg-type]

    return changed


@pytest.fixture(scope="session")
def ood_built(
    tmp_path_factory: pytest.TempPathFactory, mix_settings: Callable[..., MixSettings]
) -> Competition:
    """A built competition of the OOD track that no test may change."""
    return _kept(build(tmp_path_factory.mktemp("ood_built") / "mixes", mix_settings(), TEST_SEED))


@pytest.fixture
def ood_contest(ood_built: Competition, tmp_path: Path) -> Competition:
    """A copy of it that a test may change."""
    shutil.copytree(ood_built.root, tmp_path / "mixes")
    return Competition.open(tmp_path / "mixes")


TARGETS = {
    "cnn/test_0001": 0.9,
    "cnn/test_0002": 0.7,
    "cnn/test_0003": 0.5,
    "cnn/test_0004": 0.3,
    "vit:b/test_0001": 0.8,
    "vit:b/test_0002": 0.8,
    "vit:b/test_0003": 0.6,
    "vit:b/test_0004": 0.1,
}


@pytest.fixture
def fields(tmp_path: Path) -> dict[str, object]:
    """The fields of a competition that nothing was written of."""
    return {
        "root": tmp_path / "comp",
        "name": "Two classifiers",
        "track": "accuracy",
        "visibility": "practice",
        "source": "glyphs",
        "classes": ("0", "1", "2"),
        "image_size": (32, 24),
        "subjects": ("cnn", "vit:b"),
        "sizes": {
            "train": {"train_2": 500, "train_1": 500},
            "val": {"val_b": 100, "val_a": 200},
            "test": {"test_0001": 100, "test_0002": 100, "test_0003": 400, "test_0004": 400},
        },
        "precision": "float32",
        "seed": 0,
        "settings": {"train_sets": 2, "classifiers": ["cnn", "vit:b"], "test_from": None},
        "files": {},
    }


@pytest.fixture
def competition(fields: dict[str, object]) -> Competition:
    """The organizer's copy, on disk."""
    draft = Competition(**fields)  # type: ignore[arg-type]
    targets = dict(zip(draft.ids("val"), (0.1, 0.2, 0.3, 0.5), strict=True))
    write_predictions(draft.public / "val" / "targets.csv", targets, column="target")
    write_sample(draft.public / "sample_submission.csv", draft.ids("test"))
    rows = [
        SolutionRow(
            id=name,
            prediction=target,
            usage="Public" if draft.set_of(name) in ("test_0001", "test_0003") else "Private",
            subject=draft.subject_of(name),
            set=draft.set_of(name),
            group="unseen" if draft.set_of(name) in ("test_0003", "test_0004") else "seen",
        )
        for name, target in TARGETS.items()
    ]
    write_solution(draft.private / "solution.csv", rows)
    files = {name: sha256(draft.public / name) for name in ("val/targets.csv", "sample_submission.csv")}
    Competition(**{**fields, "files": files}).save()  # type: ignore[arg-type]
    return Competition.open(draft.root)
