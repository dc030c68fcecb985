"""Search for images that recur in a competition: in two test sets, or in a test set and a public file."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.images.arrays import read_npz
from starter.images.copies import Described, near_copies, shrunk
from starter.images.imageset import ImageSet
from submission import Competition
from submission.random import AUDIT

MOST = 20_000
"""Largest number of images, of all test sets together, for which near copies are searched."""


def shared_with_public(competition: Competition) -> Iterator[tuple[str, str, int]]:
    """Yield (test set, file below public/, number of distinct common images).

    Images of a single colour, the result of strong corruptions, are not counted: any image can give them.
    """
    public = {file: _hashes(competition, file) for file in _public_files(competition)}
    for name in tqdm(competition.sets("test"), "look for public images", unit="set"):
        mine = _hashes(competition, f"test/{name}.npz")
        shared = {file: len(mine & theirs) for file, theirs in public.items()}
        if shared and (most := max(shared, key=lambda file: shared[file])) and shared[most]:
            yield name, most, shared[most]


def recurring(competition: Competition) -> dict[str, int]:
    """Returns the number of images of each test set that are also in another, pixel for pixel.

    Sets without such images are omitted. Images of a single colour are not counted.
    """
    hashes = {name: _hashes(competition, f"test/{name}.npz") for name in competition.sets("test")}
    seen: dict[bytes, int] = {}
    for digest in (digest for found in hashes.values() for digest in found):
        seen[digest] = seen.get(digest, 0) + 1
    counts = {name: sum(seen[digest] > 1 for digest in found) for name, found in hashes.items()}
    return {name: count for name, count in counts.items() if count}


def copied(competition: Competition) -> Iterator[tuple[str, str, int]]:
    """Yield (test set, file below public/ or "test", number of images with near copies there).

    The search is in every public file, and in the OOD track also in the other mixes, which share no image.
    Equal images are not counted. If there are more than `MOST` images, a fraction of each set is searched.
    """
    share = min(1.0, MOST / sum(competition.sizes["test"].values()))
    sets = {name: _some(competition, name, share) for name in competition.sets("test")}
    test = ImageSet("test", np.concatenate([each.images for each in sets.values()]))
    where = np.repeat(np.arange(len(sets)), [len(each) for each in sets.values()])
    described = Described.of(test)
    for file in tqdm(_public_files(competition), "look for near copies", unit="file"):
        public = shrunk(read_npz(competition.file(file)))
        rows = {i for i, j in near_copies(described, Described.of(public)) if _differ(test, i, public, j)}
        yield from _counted(sets, where, rows, file)
    if competition.track == "ood":
        pairs = near_copies(described, described)
        rows = {i for i, j in pairs if where[i] != where[j] and _differ(test, i, test, j)}
        yield from _counted(sets, where, rows, "test")


def _public_files(competition: Competition) -> list[str]:
    return [name for name in competition.files if name.endswith(".npz") and not name.startswith("test/")]


def _hashes(competition: Competition, file: str) -> frozenset[bytes]:
    images = read_npz(competition.file(file))
    varied = (images.images != images.images[:, :1, :1]).any(axis=(1, 2, 3))
    return frozenset(images.take(np.flatnonzero(varied)).hashes()) if varied.any() else frozenset()


def _some(competition: Competition, name: str, share: float) -> ImageSet:
    """Returns a fraction of the images of a test set, at least one."""
    images = read_npz(competition.file(f"test/{name}.npz"))
    kept = AUDIT(0).permutation(len(images))[: int(np.ceil(share * len(images)))]
    return shrunk(images.take(np.sort(kept)))


def _differ(one: ImageSet, i: int, other: ImageSet, j: int) -> bool:
    """Returns True if two images differ in a pixel."""
    return not np.array_equal(one.images[i], other.images[j])


def _counted(
    sets: Mapping[str, ImageSet], where: NDArray[np.int64], rows: Iterable[int], file: str
) -> Iterator[tuple[str, str, int]]:
    """Returns the sets with such rows, and the number of rows."""
    for name, count in zip(sets, np.bincount(where[list(rows)], minlength=len(sets)).tolist(), strict=True):
        if count:
            yield name, file, count
