"""The operations that captioned images are shown under, and what captions say of them."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from starter.images.imageset import ImageSet
from starter.operations import GROUPS, OPERATIONS
from starter.sets.recipe import Recipe

SHIFTS = ("identity", *GROUPS["default"], *GROUPS["corruptions"])
SHIFT_PHRASES = ("untouched", *(f"with {name.replace('_', ' ')}" for name in SHIFTS[1:]))


def shifted(images: NDArray[np.uint8], shift: int, rng: Generator) -> NDArray[np.uint8]:
    """Images (n, h, w, 3) under one of SHIFTS; a severity is drawn from 2 to 5."""
    name = SHIFTS[shift]
    params = {"severity": int(rng.integers(2, 6))} if "severity" in OPERATIONS[name].parameters else {}
    recipe = Recipe(name, int(rng.integers(2**53)), ((name, params),))
    return recipe.render(ImageSet(name, images)).images
