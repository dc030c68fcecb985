"""What the images of test sets could reveal: that they are public, or stand in the order of classes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.classifiers import read_classifier
from starter.competition.accuracy import PublicSets
from starter.images.arrays import read_npz
from starter.images.overlap import pixel_hashes
from starter.observing.cache import cache_of
from starter.observing.observe import Observer, observe_all
from submission import Competition

DEVIATIONS = 6.0
"""Standard deviations above chance from which on equal neighbours are an order."""


def shared_with_public(competition: Competition) -> Iterator[tuple[str, str, int]]:
    """Test sets that share images with a public part: (set, file below public/, different images).

    Images of one colour, which strong corruptions leave, are not counted: they come from any image.
    """
    files = [name for name in competition.files if name.endswith(".npz") and not name.startswith("test/")]
    public = {file: _hashes(competition, file) for file in files}
    for name in tqdm(competition.sets("test"), "look for public images", unit="set"):
        mine = _hashes(competition, f"test/{name}.npz")
        shared = {file: len(mine & theirs) for file, theirs in public.items()}
        if shared and (most := max(shared, key=lambda file: shared[file])) and shared[most]:
            yield name, most, shared[most]


def _hashes(competition: Competition, file: str) -> frozenset[bytes]:
    images = read_npz(competition.file(file))
    varied = (images.images != images.images[:, :1, :1]).any(axis=(1, 2, 3))
    return pixel_hashes(images.take(np.flatnonzero(varied))) if varied.any() else frozenset()


def ordered_by_class(competition: Competition, device: str = "cpu") -> Iterator[str]:
    """Test sets whose neighbouring images are classified alike more often than a shuffle would have it.

    The competition's first classifier looks; its observations come from the cache where it has them.
    """
    weights = min(file for file in competition.files if file.startswith("classifiers/"))
    name = weights.removeprefix("classifiers/").removesuffix(".safetensors")
    classifier = read_classifier(competition.file(weights), name, competition.precision, device)
    observer = Observer(classifier, cache_of(competition.root))
    for observation in observe_all(PublicSets(competition).stored("test"), observer, ()):
        excess = alike_neighbours(observation.predicted)
        if excess > DEVIATIONS:
            order = f"its images stand in the order of classes ({excess:.0f} standard deviations)"
            yield f"test set {observation.set_name}: {order}: shuffle them, build again"


def alike_neighbours(classes: NDArray[np.integer]) -> float:
    """How many standard deviations more frequent equal neighbours (n,) are than in a shuffle; 0 for n < 3.

    >>> alike_neighbours(np.repeat([0, 1], 50)) > 9
    True
    """
    n = len(classes)
    counts = np.bincount(classes)
    p = float((counts * (counts - 1)).sum() / max(n * (n - 1), 1))
    if n < 3 or p in (0.0, 1.0):
        return 0.0
    found = float((classes[1:] == classes[:-1]).mean())
    return (found - p) / float(np.sqrt(p * (1 - p) / (n - 1)))
