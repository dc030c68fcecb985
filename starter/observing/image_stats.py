"""Image indicators of SYP: pixel variance, pixel entropy and Laplacian variance, batched."""

import numpy as np
import torch
from numpy import int32, int64
from numpy.typing import NDArray

from starter.data.operations.kernels import kernel
from submission.arrays import FloatArray, IntArray, Pixels

_LEVELS = np.arange(256) / 256
_FIXED = 2**32
"""Fixed-point value of 1: sums of integers do not depend on the order of addition."""
_ENTROPIES = np.rint(-_LEVELS * np.log(_LEVELS + 1e-6) * _FIXED).astype(np.int64)


def image_stats(images: torch.Tensor) -> torch.Tensor:
    """Returns the three indicators of each image, float32 (n, 3), of images, uint8 (n, 3, h, w).

    They are the variance of all pixel values on [0, 255] (SYP eq. 8); the mean of -x log(x + 1e-6) with
    x = value / 256, the winner's reading of eq. 9; the variance of the Laplacian of the grey image
    (eqs. 10-11), as of `cv2.Laplacian`.
    """
    stats = np.empty((len(images), 3), np.float32)
    _measure(np.ascontiguousarray(images.cpu().numpy()), _ENTROPIES, stats)
    return torch.from_numpy(stats)


@kernel
def _measure(images: Pixels, entropies: IntArray, out: FloatArray) -> None:
    """Write the three indicators of each image (n, 3, h, w) to out (n, 3)."""
    _, _, h, w = images.shape
    grey = np.empty((h + 2, w + 2), int32)
    for i in range(len(images)):
        values = images[i].reshape(-1)
        total, squares, entropy = int64(0), int64(0), int64(0)
        for j in range(values.size):
            value = int64(values[j])
            total += value
            squares += value * value
            entropy += entropies[values[j]]
        out[i, 0] = squares / values.size - (total / values.size) ** 2
        out[i, 1] = entropy / values.size / _FIXED
        _to_grey(images[i], grey)
        out[i, 2] = _laplacian_variance(grey)


@kernel
def _to_grey(image: Pixels, out: NDArray[np.int32]) -> None:
    """Write OpenCV's grey of RGB (3, h, w) to the middle of out (h + 2, w + 2); borders mirrored."""
    _, h, w = image.shape
    for y in range(h):
        for x in range(w):
            warm = int32(image[0, y, x]) * int32(9798) + int32(image[1, y, x]) * int32(19235)
            out[y + 1, x + 1] = (warm + int32(image[2, y, x]) * int32(3735) + int32(16384)) >> int32(15)
        out[y + 1, 0], out[y + 1, w + 1] = out[y + 1, 2], out[y + 1, w - 1]
    for x in range(w + 2):
        out[0, x], out[h + 1, x] = out[2, x], out[h - 1, x]


@kernel
def _laplacian_variance(grey: NDArray[np.int32]) -> float:
    """Returns the variance of the Laplacian inside a frame of one pixel."""
    h, w = grey.shape[0] - 2, grey.shape[1] - 2
    total, squares = int64(0), int64(0)
    for y in range(1, h + 1):
        for x in range(1, w + 1):
            around = grey[y - 1, x] + grey[y + 1, x] + grey[y, x - 1] + grey[y, x + 1]
            edge = int64(around - 4 * grey[y, x])
            total += edge
            squares += edge * edge
    return squares / (h * w) - (total / (h * w)) ** 2
