"""Labelled photographs with captions: the class's name, and the operation that was applied."""

from collections.abc import Sequence

import numpy as np
from tqdm import tqdm

from starter.encoders.captions import Captioned, join
from starter.encoders.shifts import SHIFT_PHRASES, SHIFTS, shifted
from starter.images.imageset import ImageSet
from starter.sets.recipe import generator
from submission.errors import UnusableInput

GROUP = 100
"""Images under one operation."""


def captioned_photos(
    sets: Sequence[tuple[ImageSet, Sequence[str]]], seed: int, progress: bool = True
) -> Captioned:
    """Every image once; half are left as they are, the others under one of 26 operations each.

    Args:
        sets: labelled images of one size, and the names of their classes in label order; classes of the same
            name are one.
        seed: of the operations.
        progress: show a tqdm bar.

    Raises:
        UnusableInput: the sets' images differ in size.
    """
    sizes = {images.images.shape[1:3] for images, _ in sets}
    if len(sizes) > 1:
        raise UnusableInput(f"images of one size are needed, got {sorted(sizes)}")
    named = [[name.replace("_", " ") for name in classes] for _, classes in sets]
    names = tuple(dict.fromkeys(name for classes in named for name in classes))
    pixels = np.concatenate([images.images for images, _ in sets])
    meanings = np.concatenate(
        [
            np.array([names.index(name) for name in classes])[images.labels]
            for classes, (images, _) in zip(named, sets, strict=True)
        ]
    )
    rng, parts = generator(seed, "photos"), []
    groups = np.split(rng.permutation(len(pixels)), range(GROUP, len(pixels), GROUP))
    for number, chosen in enumerate(tqdm(groups, desc="shift photos", unit="group", disable=not progress)):
        shift = int(rng.integers(1, len(SHIFTS))) if number % 2 else 0
        values = np.column_stack([meanings[chosen], np.full(len(chosen), shift)])
        easy = np.full(len(chosen), shift == 0)
        parts.append(Captioned(shifted(pixels[chosen], shift, rng), values, (names, SHIFT_PHRASES), easy))
    return join(parts)
