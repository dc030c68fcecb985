"""Image indicators of SYP: pixel variance, pixel entropy and Laplacian variance, batched."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import torch
from numpy import int16, int32, int64, uint32
from numpy.typing import NDArray

from starter.data.operations.kernels import kernel
from submission.arrays import FloatArray, Pixels

Edges = NDArray[np.int16]

_LEVELS = np.arange(256) / 256
_FIXED = 2**32
"""Fixed-point value of 1: sums of integers do not depend on the order of addition."""
_ENTROPIES = np.rint(-_LEVELS * np.log(_LEVELS + 1e-6) * _FIXED).astype(np.uint32)
_PAIRS = (_ENTROPIES[:, None] + _ENTROPIES).reshape(-1)
"""Sum of two entropies by the 16 bits of two neighbours, which halves the look-ups; with 0, that of one."""
_BLOCK = 2048
"""Number of squares of values up to 1,020, the steepest edge, with a sum below 2^31."""


def image_stats(images: torch.Tensor) -> torch.Tensor:
    """Returns the three indicators of each image, float32 (n, 3), of images, uint8 (n, 3, h, w).

    They are the variance of all pixel values on [0, 255] (SYP eq. 8); the mean of -x log(x + 1e-6) with
    x = value / 256, the winner's reading of eq. 9; the variance of the Laplacian of the grey image
    (eqs. 10-11), as of `cv2.Laplacian`. As many threads as PyTorch's are used.
    """
    pixels = np.ascontiguousarray(images.cpu().numpy())
    stats = np.empty((len(pixels), 3), np.float32)
    workers = torch.get_num_threads()
    parts = zip(np.array_split(pixels, workers), np.array_split(stats, workers), strict=True)
    first, *others = [(part, _PAIRS, out) for part, out in parts]
    running = [_pool(workers - 1).submit(_measure, *part) for part in others]
    _measure(*first)
    for thread in running:
        thread.result()
    return torch.from_numpy(stats)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "image-stats")


@kernel
def _measure(images: Pixels, pairs: NDArray[np.uint32], out: FloatArray) -> None:
    """Write the three indicators of each image (n, 3, h, w) to out (n, 3), the slowest one first.

    Every sum below is cast to the width of its terms: Numba widens int32 + int32 to int64, which halves the
    values per vector register.
    """
    _, _, h, w = images.shape
    grey, edges = np.empty((h + 2) * w, int16), np.empty(h * w, int16)
    for i in range(len(images)):
        out[i, 1] = _mean_entropy(images[i].reshape(-1), pairs)
        out[i, 0] = _grey(images[i], grey[w:-w])
        _laplacian(grey, w, edges)
        out[i, 2] = _variance(edges)


@kernel
def _mean_entropy(values: Pixels, pairs: NDArray[np.uint32]) -> float:
    neighbours = values[: values.size // 2 * 2].view(np.uint16)
    total = int64(0)
    for start in range(0, neighbours.size, _BLOCK):
        part = neighbours[start : start + _BLOCK]
        high, low = uint32(0), uint32(0)
        for j in range(part.size):
            entropy = pairs[part[j]]
            high = uint32(high + uint32(entropy >> uint32(16)))
            low = uint32(low + uint32(entropy & uint32(0xFFFF)))
        total += int64(high) * 0x10000 + int64(low)
    if values.size % 2:
        total += int64(pairs[values[-1]])
    return total / values.size / _FIXED


@kernel
def _grey(image: Pixels, out: Edges) -> float:
    """Write OpenCV's grey (h * w) of RGB (3, h, w) to `out`, and return the variance of all RGB values."""
    red, green, blue = image[0].reshape(-1), image[1].reshape(-1), image[2].reshape(-1)
    total, squares = int64(0), int64(0)
    for start in range(0, out.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        sum_, square = _grey_block(red[block], green[block], blue[block], out[block])
        total += sum_
        squares += square
    return squares / image.size - (total / image.size) ** 2


@kernel
def _grey_block(red: Pixels, green: Pixels, blue: Pixels, out: Edges) -> tuple[int, int]:
    """Write the grey values of a block to `out`, and return the sums of its RGB values and their squares."""
    sum_, reds, greens, blues = int32(0), int32(0), int32(0), int32(0)
    for j in range(out.size):
        r, g, b = int32(red[j]), int32(green[j]), int32(blue[j])
        warm = int32(int32(r * int32(9798)) + int32(g * int32(19235)))
        out[j] = int16(int32(warm + int32(int32(b * int32(3735)) + int32(16384))) >> int32(15))
        sum_ = int32(sum_ + int32(int32(r + g) + b))
        reds, greens, blues = (
            int32(reds + int32(r * r)),
            int32(greens + int32(g * g)),
            int32(blues + int32(b * b)),
        )
    return int64(sum_), int64(reds) + int64(greens) + int64(blues)


@kernel
def _laplacian(grey: Edges, w: int, edges: Edges) -> None:
    """Write the Laplacian of rows of w pixels: as if each continued in the next, then corrected at ends."""
    end = grey.size - w
    for x in range(w):
        grey[x], grey[end + x] = grey[2 * w + x], grey[end - 2 * w + x]
    above, middle, below = grey[: edges.size], grey[w:-w], grey[2 * w :]
    left, right = grey[w - 1 : w - 1 + edges.size], grey[w + 1 : w + 1 + edges.size]
    for j in range(edges.size):
        around = int16(int16(above[j] + below[j]) + int16(left[j] + right[j]))
        edges[j] = int16(around - int16(middle[j] << int16(2)))
    for first in range(0, edges.size, w):
        last = first + w - 1
        edges[first] += int16(right[first] - left[first])
        edges[last] += int16(left[last] - right[last])


@kernel
def _variance(edges: Edges) -> float:
    total, squares = int64(0), int64(0)
    for start in range(0, edges.size, _BLOCK):
        part = edges[start : start + _BLOCK]
        sum_, square = int32(0), int32(0)
        for j in range(part.size):
            value = int32(part[j])
            sum_ = int32(sum_ + value)
            square = int32(square + int32(value * value))
        total += sum_
        squares += square
    return squares / edges.size - (total / edges.size) ** 2
