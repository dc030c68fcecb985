"""Writing a competition's sets as files, for code of one's own and for other kits: docs/how-to/data.md.

DataCV's layout has the accuracies where its kit keeps its own (github.com/xingjianleng/autoeval_baselines).
"""

import io
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starter.contest.show import encode
from starter.contest.tracks import sets_of
from starter.data.images.arrays import read_npz, write_npz
from starter.data.images.imageset import ImageSet
from submission import Competition, UnusableInput, make_id
from submission.arrays import IntArray
from submission.competition import PARTS
from submission.files import claim_folder, digest_of, write_bytes
from submission.progress import progress
from submission.scoring import read_targets

LAYOUTS = ("npz", "folders", "datacv")
DATACV = {"train": "train_data", "val": "val", "test": "test_data"}
"""The folder of each part in DataCV's layout."""


def materialize(
    competition: Competition,
    *,
    out: Path,
    layout: str = "npz",
    part: str = "train",
    notes: Path | None = None,
) -> Path:
    """Write the sets of a part as files, and return their folder; a call that was interrupted continues."""
    for option, value, known in (("--layout", layout, LAYOUTS), ("--part", part, PARTS)):
        if value not in known:
            raise UnusableInput(f"{option} {value!r} is unknown; there are {', '.join(known)}")
    if not competition.sets(part):
        raise UnusableInput(f"{competition.root} has no {part} sets")
    if out.resolve().is_relative_to(competition.root.resolve()):
        raise UnusableInput(
            f"--out {out} is inside the competition {competition.root}: name a folder elsewhere"
        )
    folder = out / (DATACV[part] if layout == "datacv" else part)
    sets = sets_of(competition)
    shared = None
    if (layout, part) == ("datacv", "train"):
        first, *others = (each.labels() for each in sets.train)
        shared = first if all(np.array_equal(first, other) for other in others) else None
    paths, write = _places(competition, layout, part, folder, shared)
    claim_folder(folder, f"{layout} {part} {digest_of(competition.name, competition.files)}\n", notes)
    train = {each.name: each for each in sets.train} if part == "train" else {}
    missing = {name: path for name, path in paths.items() if not path.exists()}
    for name, path in progress(missing.items(), f"write {part} sets", unit="sets"):
        found = train[name].labelled() if train else read_npz(competition.file(f"{part}/{name}.npz"))
        write(path, replace(found, labels=None) if part == "test" else found)
    beside: dict[Path, bytes] = {}
    if part != "test":
        beside = _targets(competition, layout, part, out=out, folder=folder, names=list(paths))
    if shared is not None:
        beside[folder / "labels.npy"] = _npy(shared)
    for path, data in beside.items():
        write_bytes(path, data)
    return folder


def _places(
    competition: Competition, layout: str, part: str, folder: Path, shared: IntArray | None
) -> tuple[dict[str, Path], Callable[[Path, ImageSet], None]]:
    """Returns the path of each set, and the function that writes one; `shared` are all sets' labels."""
    names = competition.sets(part)
    if layout == "npz":
        return {name: folder / f"{name}.npz" for name in names}, write_npz
    if layout == "folders":
        for name in competition.labels:
            if "/" in name or "\\" in name or name.startswith("."):
                raise UnusableInput(f"no folder can be named after the class {name!r}: take --layout npz")
        return {name: folder / name for name in names}, partial(_write_pngs, classes=competition.labels)
    if part == "test":
        return _numbered(folder, "", names, 1), _write_images
    if shared is not None:
        return _numbered(folder, "new_data_", names, 0), _write_images
    return {name: folder / name for name in sorted(names)}, _write_pair


def _targets(
    competition: Competition, layout: str, part: str, out: Path, folder: Path, names: Sequence[str]
) -> dict[Path, bytes]:
    """Returns the files with the targets of "train" or "val", in DataCV's layout in the order of `names`."""
    if layout != "datacv":
        return {folder / "targets.csv": competition.file(f"{part}/targets.csv").read_bytes()}
    targets = read_targets(competition, part)
    file = "train_data.npy" if part == "train" else "val_sets.npy"
    return {
        out / "temp" / subject / "acc" / file: _npy(
            np.round([targets[make_id(subject, name)] for name in names], 6)
        )
        for subject in competition.subjects
    }


def _numbered(folder: Path, prefix: str, names: Sequence[str], first: int) -> dict[str, Path]:
    """Returns the path of a .npy for each name, numbered with three digits, or more if necessary."""
    digits = max(3, len(str(len(names) - 1 + first)))
    return {name: folder / f"{prefix}{number:0{digits}d}.npy" for number, name in enumerate(names, first)}


def _write_images(path: Path, images: ImageSet) -> None:
    write_bytes(path, _npy(images.images))


def _write_pair(path: Path, images: ImageSet) -> None:
    with _new_folder(path) as folder:
        np.save(folder / "data.npy", images.images, allow_pickle=False)
        np.save(folder / "labels.npy", images.truth, allow_pickle=False)


def _write_pngs(path: Path, images: ImageSet, classes: Sequence[str]) -> None:
    digits = max(4, len(str(len(images) - 1)))
    with _new_folder(path) as folder:
        for number, image in enumerate(images.images):
            place = folder if images.labels is None else folder / classes[images.labels[number]]
            place.mkdir(exist_ok=True)
            (place / f"{number:0{digits}d}.png").write_bytes(encode(".png", image))


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
