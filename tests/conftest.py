"""One small competition, built once a run, and copies of it to work on."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from starter.build import build
from starter.classifiers import Classifier, save_classifier
from starter.classifiers.small import SMALL_MEAN, SMALL_STD, train_small
from starter.glyphs import CLASSES, glyph_splits
from starter.plan import Settings
from submission import Competition

TEST_SEED = 11


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
    """A built competition that no test may change."""
    return build(tmp_path_factory.mktemp("built") / "contest", settings(), TEST_SEED)


@pytest.fixture
def contest(built: Competition, tmp_path: Path) -> Competition:
    """A copy of the built competition that a test may change."""
    shutil.copytree(built.root, tmp_path / "contest")
    return Competition.open(tmp_path / "contest")


@pytest.fixture
def data() -> Path:
    """The folder of the real data; the test is skipped where there is none."""
    folder = os.environ.get("UNSEEN_DATA")
    if not folder:
        pytest.skip("set UNSEEN_DATA to the folder of the real data")
    return Path(folder)
