"""Small competitions, really built once a machine and state of the code, and copies of them.

A plugin of every test; torch is loaded by the first fixture that needs it, so that tests of what a scoring host
does run without.
"""

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from filelock import FileLock

from submission import Competition
from submission.files import digest_of, sha256

if TYPE_CHECKING:
    from starter.contest.settings import Settings

TEST_SEED = 11
ARRAYS = {".npz", ".npy", ".safetensors"}
"""The files of a competition that are large, and that the kit replaces and never writes into."""

Once = Callable[[str, FunctionType], Path]
"""Fills a folder by a function once for all workers, and for later runs of the same code."""
KERNELS = ("OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA")
UNUSED = 3600
"""Seconds after which what other code has made is taken away."""
LIBRARY = ("unseen.api.",)


def _networks() -> dict[Any, Any]:
    """Networks of the user's that are known, where any can be."""
    module = sys.modules.get("starter.models.classifiers.networks.body")
    return module._used if module else {}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks for a trained network, or a competition built with it, is slow; the library's examples do.

    The blocks of the README and of the tutorials run every time, but for the researcher's dear ones.
    """
    every_time = re.compile(r"\[(README|docs/tutorials/(quickstart|participant|organizer))\.md\]$")
    for item in items:
        asks = "weights" in getattr(item, "fixturenames", ()) or _of_library(item)
        if asks and not every_time.search(item.name):
            item.add_marker(pytest.mark.slow)


def _of_library(item: pytest.Item) -> bool:
    return isinstance(item, pytest.DoctestItem) and item.name.startswith(LIBRARY)


@pytest.fixture(autouse=True)
def forgotten_networks() -> Iterator[None]:
    """Networks of the user's that a test names are not known to the next."""
    before = dict(_networks())
    yield
    _networks().clear()
    _networks().update(before)


@pytest.fixture(autouse=True)
def where_examples_run(request: pytest.FixtureRequest) -> None:
    """The library's examples run where `contest` is."""
    if _of_library(request.node):
        request.getfixturevalue("folder")


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Make a folder once a machine: the others wait for the first who asks, later runs find it whole or renew it."""
    own = tmp_path_factory.getbasetemp()
    ours = next((folder for folder in own.parents if folder.name.startswith("pytest-of-")), own.parent)
    together = ours / f"once-{_code()}"
    together.mkdir(exist_ok=True)
    os.utime(together)
    for other in ours.glob("once-*"):
        if time.time() - other.stat().st_mtime > UNUSED:
            shutil.rmtree(other, ignore_errors=True)

    def made(name: str, make: FunctionType) -> Path:
        name += f"-{sha256(Path(make.__code__.co_filename))[:8]}"
        folder, done = together / name, together / f"{name}.done"
        with FileLock(f"{folder}.lock"):
            if not done.exists() or done.read_text() != _content(folder):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                done.write_text(_content(folder))
        return folder

    return made


def _code() -> str:
    """A hash of all that decides what is made: the code, what is installed, and the kernels that compute."""
    root = Path(__file__).parents[2]
    files = [
        file for part in ("submission", "starter", "tests/shared") for file in (root / part).rglob("*.py")
    ]
    installed = sorted(path.name for path in Path(np.__file__).parents[1].glob("*.dist-info"))
    return digest_of(sys.version, *installed, *map(os.environ.get, KERNELS), *map(sha256, sorted(files)))


def _content(folder: Path) -> str:
    """A hash of the files of a folder, with their names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest_of(*(part for file in files for part in (str(file.relative_to(folder)), sha256(file))))


@pytest.fixture(scope="session")
def glyphs(once: Once) -> None:
    """The embedded images, drawn once a machine: that takes four seconds in each process."""
    from starter.data.images.imageset import ImageSet
    from starter.data.sources.glyphs import digits

    folder = once("glyphs", _write_glyphs)

    def read(name: str, *_: object) -> ImageSet:
        images, labels = (np.load(folder / f"{name}_{of}.npy") for of in ("images", "labels"))
        return ImageSet(name, images, labels)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digits, "_render", read)
        digits.glyph_splits(0)


def _write_glyphs(folder: Path) -> None:
    from starter.data.sources.glyphs.digits import PARTS, glyph_splits

    for name in PARTS:
        part = getattr(glyph_splits(0), name)
        np.save(folder / f"{name}_images.npy", part.images)
        np.save(folder / f"{name}_labels.npy", part.labels)


@pytest.fixture(scope="session")
def weights(once: Once, glyphs: None) -> Path:
    """Weights of `small` for the embedded images, where all checkouts of this code find them."""
    return once("weights", _copy_weights) / "tiny.safetensors"


@contextmanager
def fewer_images() -> Iterator[None]:
    """Build with fewer training and reference images to observe, 1,000 and 500, and 2,000 for a referee to learn."""
    from starter.contest import build
    from starter.data.sources.splits import Splits
    from starter.observing import referee_fit

    load = build.load_source

    def fewer(*source: object) -> Splits:
        splits = load(*source)  # type: ignore[arg-type]
        return replace(splits, reference=splits.reference.take(np.arange(min(500, len(splits.reference)))))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(referee_fit, "TRAIN_REF", 1000)
        patch.setattr(referee_fit, "LEARNT", 2000)
        patch.setattr(build, "load_source", fewer)
        yield


@pytest.fixture(autouse=True)
def builds_of_the_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test that asks for the network builds has fewer images, as what is built for it before."""
    asks = "weights" in request.fixturenames or _of_library(request.node)
    with fewer_images() if asks else nullcontext():
        yield


def _copy_weights(folder: Path) -> None:
    from starter.models.classifiers.networks.small import EMBEDDED

    shutil.copyfile(EMBEDDED, folder / "tiny.safetensors")


@pytest.fixture(scope="session")
def settings(weights: Path) -> Callable[..., "Settings"]:
    """Settings of a small competition, with changes: 12 + 6 + 12 sets of 60 images."""

    from asked import accuracy_settings

    sizes = {"train_sets": 12, "val_sets": 6, "test_sets": 12, "set_size": 60, "ops_per_set": (1, 3)}
    return partial(accuracy_settings, classifiers=(f"tiny={weights}",), **sizes)


@pytest.fixture(scope="session")
def ood_folder(once: Once) -> Path:
    """Seven families of small OOD data sets, one folder each, some with class folders: digits laid down and
    the more hidden by noise the further the set stands in the alphabet.
    """
    return once("ood", _write_ood)


def _write_ood(root: Path) -> None:
    import cv2

    from starter.data.sources.glyphs.digits import glyph_splits

    rng = np.random.default_rng(0)
    digits = rng.permutation(glyph_splits(0).train.images)
    for number, name in enumerate(("a_1", "a_2", "b", "c", "d", "e", "f", "g")):
        own = digits[260 * number : 260 * (number + 1)]
        turned = np.rot90(own, axes=(1, 2)).astype(np.float64)
        noise = rng.integers(256, size=turned.shape)
        images = (turned + number / 10 * (noise - turned)).astype(np.uint8)
        folder = root / name / ("class" if name == "b" else ".")
        folder.mkdir(parents=True)
        for i, image in enumerate(images):
            cv2.imwrite(str(folder / f"{i:03d}.png"), image)


@pytest.fixture(scope="session")
def mix_settings(weights: Path, ood_folder: Path) -> Callable[..., "Settings"]:
    """Settings of a small competition of the OOD track, with changes."""

    from asked import ood_settings

    sizes = {"train_sets": 12, "val_sets": 4, "test_sets": 8, "set_size": 80}
    chosen = {"classifiers": (f"tiny={weights}",), "detectors": ("msp", "energy"), **sizes}
    return partial(ood_settings, ood=str(ood_folder), **chosen)


@pytest.fixture(scope="session")
def built(
    once: Once, tmp_path_factory: pytest.TempPathFactory, settings: Callable[..., "Settings"]
) -> Competition:
    """A built competition that no test may change; what tests observe of it goes into its cache, though.

    Beside it, in ``fresh``, is a copy as it was built.
    """
    made = once("built", lambda folder: _build(folder / "contest", settings()))
    return _own(made, "contest", tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def ood_built(
    once: Once, tmp_path_factory: pytest.TempPathFactory, mix_settings: Callable[..., "Settings"]
) -> Competition:
    """A built competition of the OOD track that no test may change."""
    made = once("ood_built", lambda folder: _build(folder / "mixes", mix_settings()))
    return _own(made, "mixes", tmp_path_factory.mktemp("ood_built"))


def _build(root: Path, settings: "Settings") -> None:
    """Build a competition, and beside it in ``observed`` one of which all is observed that methods ask for."""
    from starter.contest.build import build
    from starter.contest.tracks import open_subjects
    from starter.observing.observation import NEEDS, unmet

    with fewer_images():
        build(root, settings, TEST_SEED)
    observed = Competition.open(linked(root, root.parent / "observed"))
    needs = tuple(need for need in NEEDS if not unmet((need,), observed))
    for subject in open_subjects(observed, needs).values():
        meta = subject.meta_train()
        for seen in (*meta.sets, *subject.observations("val"), *subject.observations("test")):
            assert seen.set_name


def _own(made: Path, name: str, folder: Path) -> Competition:
    """Returns this worker's copy, since each observes into its own cache; one as it was built is beside it."""
    linked(made / name, folder / "fresh")
    return Competition.open(linked(made / "observed", folder / name))


@pytest.fixture
def contest(built: Competition, tmp_path: Path) -> Competition:
    """A copy of the built competition that a test may change."""
    return Competition.open(linked(built.root, tmp_path / "contest"))


@pytest.fixture
def ood_contest(ood_built: Competition, tmp_path: Path) -> Competition:
    """A copy of it that a test may change."""
    return Competition.open(linked(ood_built.root, tmp_path / "mixes"))


@pytest.fixture
def folder(contest: Competition, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a copy of the competition in `contest`."""
    monkeypatch.chdir(contest.root.parent)
    return contest.root.parent


@pytest.fixture
def mixes(ood_contest: Competition, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a copy of the one of the OOD track in `mixes`."""
    monkeypatch.chdir(ood_contest.root.parent)
    return ood_contest.root.parent


def spoil(path: Path, data: bytes = b"broken") -> None:
    """Put other bytes in the place of a file: written into it, they would show in every copy."""
    path.unlink()
    path.write_bytes(data)


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a folder, by relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def linked(source: Path, target: Path) -> Path:
    """Copy a competition: its arrays, nearly all of its 35 MB, as hard links; what is written in place is copied."""

    def copy(file: str, place: str) -> object:
        return os.link(file, place) if Path(file).suffix in ARRAYS else shutil.copy2(file, place)

    return Path(shutil.copytree(source, target, copy_function=copy))
