"""Image indicators of SYP: pixel variance, pixel entropy and Laplacian variance, batched."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

_LEVELS = np.arange(256) / 256
FIXED = 2**40
"""What 1 is in sums of whole numbers, which may be added in any order."""
_ENTROPIES = np.rint(-_LEVELS * np.log(_LEVELS + 1e-6) * FIXED).astype(np.int64)


def image_stats(images: torch.Tensor) -> torch.Tensor:
    """The three image indicators of each image, whatever batch it is in; in as many threads as PyTorch has.

    Args:
        images: uint8 (n, 3, h, w), RGB, h and w 2 or more.

    Returns:
        float32 (n, 3): the variance of all pixel values on [0, 255] (SYP eq. 8); the mean of
        -x log(x + 1e-6) with x = value / 256, the winner's reading of eq. 9; the variance of the Laplacian
        of the grey image (eqs. 10-11; kernel [[0,1,0],[1,-4,1],[0,1,0]], borders reflected without
        repeating the edge, as `cv2.Laplacian`).
    """
    pixels = np.ascontiguousarray(images.cpu().numpy())
    stats = np.empty((len(pixels), 3), np.float32)
    workers = torch.get_num_threads()
    parts = zip(np.array_split(pixels, workers), np.array_split(stats, workers), strict=True)
    if workers == 1:
        _measure(pixels, _ENTROPIES, stats)
    else:
        list(_pool(workers).map(lambda part: _measure(part[0], _ENTROPIES, part[1]), parts))
    return torch.from_numpy(stats)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "image-stats")


@njit(cache=True, nogil=True)
def _measure(images: Pixels, entropies: NDArray[np.int64], out: NDArray[np.float32]) -> None:
    """The three of each image (n, 3, h, w), written to out (n, 3)."""
    _, _, h, w = images.shape
    framed = np.empty((h + 2, w + 2), np.float32)
    for i in range(len(images)):
        out[i, 0] = _variance(images[i].reshape(-1))
        out[i, 1] = _mean_of(images[i].reshape(-1), entropies)
        _frame_grey(images[i], framed)
        out[i, 2] = _variance_of_laplacian(framed)


@njit(cache=True, nogil=True)
def _variance(values: Pixels) -> float:
    total, squares = np.int64(0), np.int64(0)
    for start in range(0, values.size, 4096):
        part = values[start : start + 4096]
        sum_, square = np.int32(0), np.int32(0)
        for j in range(part.size):
            value = np.int32(part[j])
            sum_ += value
            square += np.int32(value * value)
        total += sum_
        squares += square
    return squares / values.size - (total / values.size) ** 2


@njit(cache=True, nogil=True)
def _mean_of(values: Pixels, table: NDArray[np.int64]) -> float:
    """The mean of what the table has for each value, over FIXED."""
    a, b, c, d = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    whole = values.size // 4 * 4
    for j in range(0, whole, 4):
        a += table[values[j]]
        b += table[values[j + 1]]
        c += table[values[j + 2]]
        d += table[values[j + 3]]
    for j in range(whole, values.size):
        a += table[values[j]]
    return (a + b + c + d) / values.size / FIXED


@njit(cache=True, nogil=True)
def _frame_grey(image: Pixels, framed: NDArray[np.float32]) -> None:
    """OpenCV's grey of RGB (3, h, w) in the middle of (h + 2, w + 2); borders are reflected."""
    _, h, w = image.shape
    for y in range(h):
        for x in range(w):
            weighted = np.int32(image[0, y, x]) * np.int32(9798) + np.int32(image[1, y, x]) * np.int32(19235)
            weighted += np.int32(image[2, y, x]) * np.int32(3735) + np.int32(16384)
            framed[y + 1, x + 1] = np.float32(np.int32(weighted) >> np.int32(15))
        framed[y + 1, 0], framed[y + 1, w + 1] = framed[y + 1, 2], framed[y + 1, w - 1]
    for x in range(w + 2):
        framed[0, x], framed[h + 1, x] = framed[2, x], framed[h - 1, x]


@njit(cache=True, nogil=True)
def _variance_of_laplacian(framed: NDArray[np.float32]) -> float:
    h, w = framed.shape[0] - 2, framed.shape[1] - 2
    total, squares = np.int64(0), np.int64(0)
    for y in range(h):
        sum_, square = np.int32(0), np.int32(0)
        for x in range(w):
            around = framed[y, x + 1] + framed[y + 2, x + 1] + framed[y + 1, x] + framed[y + 1, x + 2]
            edge = np.int32(around - np.float32(4) * framed[y + 1, x + 1])
            sum_ += edge
            square += np.int32(edge * edge)
        total += sum_
        squares += square
    return squares / (h * w) - (total / (h * w)) ** 2
