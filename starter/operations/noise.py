"""Compiled loops that add pixel noise, which NumPy draws.

Numba's own draws from the same generator are faster and not always the same: one in
millions rounds otherwise, and all that follow differ.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from submission.arrays import FloatArray, Pixels


@njit(cache=True, nogil=True)
def add_noise(images: Pixels, drawn: FloatArray, scale: FloatArray, in_proportion: bool, out: Pixels) -> None:
    """Add `scale` (b,) times the noise, of the images' shape; `in_proportion`, times the value as well."""
    for i in range(len(images)):
        values, noise, result = images[i].reshape(-1), drawn[i].reshape(-1), out[i].reshape(-1)
        for j in range(values.size):
            value, added = np.float32(values[j]), noise[j] * scale[i]
            added = added * value if in_proportion else added
            result[j] = np.uint8(np.int32(min(max(added + value, np.float32(0)), np.float32(255))))


@njit(cache=True, nogil=True)
def add_grain(
    images: Pixels, drawn: FloatArray, scale: FloatArray, coloured: NDArray[np.bool_], out: Pixels
) -> None:
    """Add `scale` (b,) times the noise, of the images' shape, in whole numbers.

    All colours get the first's noise unless the image is `coloured` (b,).
    """
    for i in range(len(images)):
        for c in range(3):
            noise = drawn[i, c if coloured[i] else 0].reshape(-1)
            values, result = images[i, c].reshape(-1), out[i, c].reshape(-1)
            for j in range(values.size):
                value = np.rint(noise[j] * scale[i]) + np.float32(values[j])
                result[j] = np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))
