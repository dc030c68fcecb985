"""Writing a competition's sets out as files, for code of one's own and for other kits.

| layout | train | val | test |
|---|---|---|---|
| npz | ``train/<set>.npz`` | ``val/<set>.npz`` | ``test/<set>.npz`` |
| folders | ``train/<set>/<class>/0000.png`` | ``val/<set>/<class>/0000.png`` | ``test/<set>/0000.png`` |
| datacv | ``train_data/new_data_000.npy`` | ``val/<set>/data.npy`` | ``test_data/001.npy`` |

Accuracies are in ``targets.csv`` beside the sets. DataCV's layout has ``labels.npy`` beside the images, and
the accuracies, in the order of the files, where DataCV's kit keeps its own
(github.com/xingjianleng/autoeval_baselines): ``temp/<subject>/acc/train_data.npy`` and ``val_sets.npy``.
"""

import io
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.images.arrays import read_npz, write_npz
from starter.images.imageset import ImageSet
from starter.tracks.sets import read_labelled
from starter.tracks.tracks import sets_of
from submission import Competition, UnusableInput, make_id
from submission.competition import PARTS
from submission.files import claim_folder, replacing, sha256
from submission.scoring import read_targets


def materialize(competition: Competition, out: Path, layout: str = "npz", part: str = "train") -> Path:
    """Write the sets of one part ("train", "val" or "test"); the same competition gives the same bytes.

    A set that is there is not written again, so an interrupted run goes on. In DataCV's layout
    all meta-train sets share one ``labels.npy``; where they show different images, each gets a folder with
    ``data.npy`` and ``labels.npy``, as validation sets have. Returns the part's folder in `out`.
    """
    for option, value, known in (("--layout", layout, tuple(LAYOUTS)), ("--part", part, PARTS)):
        if value not in known:
            raise UnusableInput(f"{option} {value!r} is unknown; there are {', '.join(known)}")
    if not competition.sets(part):
        raise UnusableInput(f"{competition.root} has no {part} sets")
    if out.resolve().is_relative_to(competition.root.resolve()):
        raise UnusableInput(
            f"--out {out} is inside the competition {competition.root}: name a folder elsewhere"
        )
    plan = LAYOUTS[layout](competition, part, out)
    claim_folder(plan.folder, f"{layout} {part} {sha256(competition.public / 'competition.json')}\n")
    missing = {name: path for name, path in plan.paths.items() if not path.exists()}
    sets = _sets(competition, part)
    for name, path in tqdm(missing.items(), f"write {part} sets", unit="set"):
        plan.write(path, sets[name]())
    for path, data in plan.beside.items():
        with replacing(path) as temporary:
            temporary.write_bytes(data)
    return plan.folder


@dataclass(frozen=True)
class _Plan:
    """The files of a part: each set at its path, and small files beside them."""

    folder: Path
    paths: Mapping[str, Path]
    write: Callable[[Path, ImageSet], None]
    beside: Mapping[Path, bytes]


def _npz(competition: Competition, part: str, out: Path) -> _Plan:
    folder = out / part
    paths = {name: folder / f"{name}.npz" for name in competition.sets(part)}
    return _Plan(folder, paths, write_npz, _targets(competition, part, folder))


def _class_folders(competition: Competition, part: str, out: Path) -> _Plan:
    for name in competition.labels:
        if "/" in name or "\\" in name or name.startswith("."):
            raise UnusableInput(f"no folder can be named after the class {name!r}: take --layout npz")
    folder = out / part
    paths = {name: folder / name for name in competition.sets(part)}
    write = partial(_write_pngs, classes=competition.labels)
    return _Plan(folder, paths, write, _targets(competition, part, folder))


def _targets(competition: Competition, part: str, folder: Path) -> dict[Path, bytes]:
    if part == "test":
        return {}
    return {folder / "targets.csv": competition.file(f"{part}/targets.csv").read_bytes()}


def _datacv(competition: Competition, part: str, out: Path) -> _Plan:
    names = competition.sets(part)
    if part == "test":
        folder = out / "test_data"
        return _Plan(folder, _numbered(folder, "", names, 1), _write_images, {})
    if part == "val":
        folder, accuracies = out / "val", "val_sets.npy"
    else:
        folder, accuracies = out / "train_data", "train_data.npy"
    labels = _common_labels(competition) if part == "train" else None
    paths = {name: folder / name for name in sorted(names)}
    if labels is not None:
        paths = _numbered(folder, "new_data_", names, 0)
    targets = read_targets(competition, part)
    beside = {
        out / "temp" / subject / "acc" / accuracies: _npy(
            np.round([targets[make_id(subject, name)] for name in paths], 6)
        )
        for subject in competition.subjects
    }
    if labels is None:
        return _Plan(folder, paths, _write_pair, beside)
    return _Plan(folder, paths, _write_images, {**beside, folder / "labels.npy": _npy(labels)})


LAYOUTS: Mapping[str, Callable[[Competition, str, Path], _Plan]] = {
    "npz": _npz,
    "folders": _class_folders,
    "datacv": _datacv,
}
"""Functions that plan the files of a competition's part, by the name of the layout."""


def _numbered(folder: Path, prefix: str, names: Sequence[str], first: int) -> dict[str, Path]:
    """Returns the path of a .npy for each name, numbered with three digits, or more if necessary."""
    digits = max(3, len(str(len(names) - 1 + first)))
    return {name: folder / f"{prefix}{number:0{digits}d}.npy" for number, name in enumerate(names, first)}


def _common_labels(competition: Competition) -> NDArray[np.int64] | None:
    """Returns the labels int64 (n,) common to all meta-train sets; None if they differ."""
    labels, *others = (each.labels() for each in sets_of(competition).train)
    return labels if all(np.array_equal(other, labels) for other in others) else None


def _sets(competition: Competition, part: str) -> dict[str, Callable[[], ImageSet]]:
    """Returns a function by name that renders or reads the set."""
    if part == "train":
        return {each.name: each.labelled for each in sets_of(competition).train}

    def read(name: str) -> ImageSet:
        path = competition.file(f"{part}/{name}.npz")
        if part == "val":
            return read_labelled(path, name, len(competition.labels))
        return replace(read_npz(path, name), labels=None)

    return {name: partial(read, name) for name in competition.sets(part)}


def _write_images(path: Path, images: ImageSet) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(_npy(images.images))


def _write_pair(path: Path, images: ImageSet) -> None:
    assert images.labels is not None
    with _new_folder(path) as folder:
        np.save(folder / "data.npy", images.images, allow_pickle=False)
        np.save(folder / "labels.npy", images.labels, allow_pickle=False)


def _write_pngs(path: Path, images: ImageSet, classes: Sequence[str]) -> None:
    digits = max(4, len(str(len(images) - 1)))
    with _new_folder(path) as folder:
        for number, image in enumerate(images.images):
            place = folder if images.labels is None else folder / classes[images.labels[number]]
            place.mkdir(exist_ok=True)
            done, encoded = cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
            assert done, "OpenCV cannot encode a PNG"
            (place / f"{number:0{digits}d}.png").write_bytes(encoded.tobytes())


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, which is renamed to `path` on success."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.mkdir()
    try:
        yield temporary
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary)
        raise


def _npy(array: NDArray[Any]) -> bytes:
    """Returns the bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()
