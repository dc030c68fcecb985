"""Image indicators of SYP: pixel variance, pixel entropy and Laplacian variance, batched."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

BLOCK = 125
"""Images that one thread takes at a time: few enough for the processor's cache."""
_LEVELS = np.arange(256) / 256
_ENTROPY_TABLE = (-_LEVELS * np.log(_LEVELS + 1e-6)).astype(np.float32)


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
    pixels = images.cpu().numpy()
    blocks = [pixels[start : start + BLOCK] for start in range(0, len(pixels), BLOCK)]
    workers = min(torch.get_num_threads(), len(blocks))
    if workers < 2:
        return torch.from_numpy(np.concatenate([_block(block) for block in blocks]))
    with ThreadPoolExecutor(workers) as pool:
        return torch.from_numpy(np.concatenate(list(pool.map(_block, blocks))))


def _block(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    n, _, h, w = images.shape
    values = np.ascontiguousarray(images).reshape(n, -1)
    entropy = cv2.reduce(cv2.LUT(values, _ENTROPY_TABLE), 1, cv2.REDUCE_SUM, dtype=cv2.CV_64F)[:, 0]
    squares = values.astype(np.uint16)
    squares *= squares
    variance = _variance(
        cv2.reduce(values, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)[:, 0],
        squares.sum(1, dtype=np.uint64),
        values.shape[1],
    )
    edges = _laplacian(_grey(values, h, w)).astype(np.float32).reshape(n, -1)
    blur = _variance(
        cv2.reduce(edges, 1, cv2.REDUCE_SUM, dtype=cv2.CV_64F)[:, 0],
        np.einsum("ij,ij->i", edges, edges),
        h * w,
    )
    return np.stack([variance, entropy / values.shape[1], blur], axis=1).astype(np.float32)


def _variance(total: NDArray[Any], squares: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Of `count` values each, from their sums and sums of squares (n,)."""
    return squares / count - (total / count) ** 2


def _grey(values: NDArray[np.uint8], h: int, w: int) -> NDArray[np.uint8]:
    """Planar RGB (n, 3 h w) -> grey (n, h, w)."""
    planes = [np.ascontiguousarray(plane) for plane in np.split(values, 3, axis=1)]
    return np.asarray(cv2.cvtColor(cv2.merge(planes), cv2.COLOR_RGB2GRAY), np.uint8).reshape(-1, h, w)


def _laplacian(grey: NDArray[np.uint8]) -> NDArray[np.int16]:
    """(n, h, w) -> (n, h, w): on a padded copy the four neighbours are four shifts of one long row."""
    n, h, w = grey.shape
    padded = np.empty((n, h + 2, w + 2), np.int16)
    padded[:, 1:-1, 1:-1] = grey
    padded[:, 0], padded[:, -1] = padded[:, 2], padded[:, -3]
    padded[:, :, 0], padded[:, :, -1] = padded[:, :, 2], padded[:, :, -3]
    row, out, side = padded.reshape(-1), np.empty_like(padded), w + 2
    inner = out.reshape(-1)[side:-side]
    np.add(row[: -2 * side], row[2 * side :], out=inner)
    inner += row[side - 1 : -side - 1]
    inner += row[side + 1 : len(row) - side + 1]
    inner -= row[side:-side] << 2
    return out[:, 1:-1, 1:-1]
