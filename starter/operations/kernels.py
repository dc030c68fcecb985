"""Compiled inner loops of the set operations: one pass over an image while it is in the processor's cache.

Numba compiles each function on first use (in less than a second) and keeps the result beside this file or in
the user's cache folder. Every step is one float32 or integer operation, and the compiler may not reorder them
(no `fastmath`), so that the bytes are the same on every machine. Images are uint8 (b, 3, h, w), contiguous;
results are written to `out`, of the same kind.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from submission.arrays import FloatArray, IntArray, Pixels


@njit(cache=True, nogil=True)
def to_planes(base: Pixels, rows: IntArray, out: Pixels) -> None:
    """Copy the images number `rows` (b,) of `base`, uint8 (n, h, w, 3), to `out` with channels first."""
    for i, row in enumerate(rows):
        pixels, planes = base[row].reshape(-1), out[i].reshape(-1)
        n = pixels.size // 3
        for j in range(n):
            planes[j] = pixels[3 * j]
            planes[n + j] = pixels[3 * j + 1]
            planes[2 * n + j] = pixels[3 * j + 2]


@njit(cache=True, nogil=True)
def scale_about(images: Pixels, factor: FloatArray, centre: float, out: Pixels) -> None:
    """Multiply distances from `centre` by factor (b, 3) and round."""
    about, above = np.float32(centre), np.float32(centre + 0.5)
    for i in range(len(images)):
        for c in range(3):
            _stretch(images[i, c].reshape(-1), about, factor[i, c], above, out[i, c].reshape(-1))


@njit(cache=True, nogil=True)
def _stretch(values: Pixels, low: float, factor: float, offset: float, out: Pixels) -> None:
    for j in range(values.size):
        out[j] = np.uint8(
            min(max((np.float32(values[j]) - low) * factor + offset, np.float32(0)), np.float32(255))
        )


@njit(cache=True, nogil=True)
def stretch_between_ranks(images: Pixels, cut: IntArray, out: Pixels) -> None:
    """Stretch each channel's values to 0..255 after dropping `cut` (b,) pixels at either end."""
    counts = np.empty((4, 256), np.int32)
    for i in range(len(images)):
        for c in range(3):
            values = images[i, c].reshape(-1)
            _count(values, counts)
            low = _first_above(counts, cut[i])
            high = _first_above(counts, values.size - cut[i] - 1)
            factor = np.float32(1)
            if high > low:
                factor = np.float32(255) / np.float32(high - low)
            else:
                low = 0
            # The small addend keeps the top of the range, (high - low) * factor, from being cut off to 254.
            _stretch(values, np.float32(low), factor, np.float32(1e-3), out[i, c].reshape(-1))


@njit(cache=True, nogil=True)
def _count(values: Pixels, counts: NDArray[np.int32]) -> None:
    """Count each value, in four histograms that are added up: equal neighbours do not wait for each other."""
    counts[:] = 0
    whole = values.size // 4 * 4
    for j in range(0, whole, 4):
        counts[0, values[j]] += 1
        counts[1, values[j + 1]] += 1
        counts[2, values[j + 2]] += 1
        counts[3, values[j + 3]] += 1
    for j in range(whole, values.size):
        counts[0, values[j]] += 1
    for value in range(256):
        counts[0, value] += counts[1, value] + counts[2, value] + counts[3, value]


@njit(cache=True, nogil=True)
def _first_above(counts: NDArray[np.int32], pixels: int) -> int:
    """Returns the lowest value such that more than `pixels` values are at most that value."""
    total = 0
    for value in range(255):
        total += counts[0, value]
        if total > pixels:
            return value
    return 255


@njit(cache=True, nogil=True)
def blend_with_grey(images: Pixels, factor: FloatArray, out: Pixels) -> None:
    """Blend with Pillow's 16-bit grey: `factor` (b,) 0 gives grey, 1 the image; fractions are cut off."""
    for i in range(len(images)):
        pixels, result = images[i].reshape(3, -1), out[i].reshape(3, -1)
        red, green, blue = pixels[0], pixels[1], pixels[2]
        for j in range(red.size):
            weighted = np.int32(red[j]) * 19595 + np.int32(green[j]) * 38470 + np.int32(blue[j]) * 7471
            grey = np.float32((weighted + 32768) >> 16)
            for c in range(3):
                value = (np.float32(pixels[c, j]) - grey) * factor[i] + grey
                result[c, j] = np.uint8(min(max(value, np.float32(0)), np.float32(255)))


@njit(cache=True, nogil=True)
def invert_from(images: Pixels, threshold: IntArray, applied: NDArray[np.bool_], out: Pixels) -> None:
    """Invert values from `threshold` (b,) on, in images with `applied` (b,) true."""
    for i in range(len(images)):
        values, result = images[i].reshape(-1), out[i].reshape(-1)
        least = np.uint8(threshold[i])
        for j in range(values.size):
            result[j] = ~values[j] if applied[i] and values[j] >= least else values[j]


@njit(cache=True, nogil=True)
def warp_affine(images: Pixels, inverse: FloatArray, applied: NDArray[np.bool_], out: Pixels) -> None:
    """Read each pixel (x, y, 1) at `inverse` (b, 2, 3) times it, bilinear and rounded; black from outside.

    Images with `applied` (b,) false are copied.
    """
    h, w = images.shape[2:]
    side = w + 2
    # A pixel is one integer, one byte per colour; a black frame of one pixel surrounds the image.
    framed, corners = np.zeros((h + 2) * side, np.int32), np.empty((4, w), np.int32)
    corner, far_x, far_y = np.empty(w, np.uint64), np.empty(w, np.float32), np.empty(w, np.float32)
    for i in range(len(images)):
        if not applied[i]:
            values, result = images[i].reshape(-1), out[i].reshape(-1)
            for j in range(values.size):
                result[j] = values[j]
            continue
        _pack(images[i], framed)
        for y in range(h):
            start_x = inverse[i, 0, 1] * np.float32(y) + inverse[i, 0, 2]
            start_y = inverse[i, 1, 1] * np.float32(y) + inverse[i, 1, 2]
            for x in range(w):
                # Everything beyond the frame is black, like the frame.
                place_x = _within(inverse[i, 0, 0] * np.float32(x) + start_x, w)
                place_y = _within(inverse[i, 1, 0] * np.float32(x) + start_y, h)
                left, top = min(np.int32(place_x), np.int32(w)), min(np.int32(place_y), np.int32(h))
                corner[x] = np.int32(top * np.int32(side)) + left
                far_x[x], far_y[x] = place_x - np.float32(left), place_y - np.float32(top)
            for x in range(w):
                at = corner[x]
                corners[0, x], corners[1, x] = framed[at], framed[at + np.uint64(1)]
                at += np.uint64(side)
                corners[2, x], corners[3, x] = framed[at], framed[at + np.uint64(1)]
            for c in range(3):
                _between(corners, np.int32(8 * c), far_x, far_y, out[i, c, y])


@njit(cache=True, nogil=True)
def _pack(image: Pixels, out: NDArray[np.int32]) -> None:
    """Pack an image (3, h, w) into the middle of (h + 2, w + 2) integers, stored as one row."""
    _, h, w = image.shape
    framed = out.reshape(h + 2, w + 2)
    for y in range(h):
        for x in range(w):
            low, high = np.int32(image[0, y, x]), np.int32(image[2, y, x]) << np.int32(16)
            framed[y + 1, x + 1] = np.int32(low | np.int32(image[1, y, x]) << np.int32(8)) | np.int32(high)


@njit(cache=True, nogil=True)
def _within(place: float, n: int) -> float:
    """Returns a place clipped to -1..n, plus 1: an index into the framed image."""
    return min(max(place, np.float32(-1)), np.float32(n)) + np.float32(1)


@njit(cache=True, nogil=True)
def _between(
    corners: NDArray[np.int32], shift: int, far_x: FloatArray, far_y: FloatArray, out: Pixels
) -> None:
    """Write the colour at `shift` bits, bilinear between corners (4, w), rounded."""
    byte = np.int32(255)
    for x in range(out.size):
        upper = np.float32(np.int32(corners[0, x] >> shift) & byte)
        upper += far_x[x] * (np.float32(np.int32(corners[1, x] >> shift) & byte) - upper)
        lower = np.float32(np.int32(corners[2, x] >> shift) & byte)
        lower += far_x[x] * (np.float32(np.int32(corners[3, x] >> shift) & byte) - lower)
        out[x] = np.uint8(np.int32(upper + far_y[x] * (lower - upper) + np.float32(0.5)))


@njit(cache=True, nogil=True)
def less_square(images: Pixels, centre: FloatArray, share: FloatArray, out: Pixels) -> None:
    """Write `centre` (b,) times a value minus `share` (b,) times the sum of its 3 x 3 neighbourhood, rounded.

    Borders are reflected without repeating the edge.
    """
    h, w = images.shape[2:]
    # For an index that might be negative Numba counts from the end, which keeps a loop from being compiled to
    # vector instructions: the shifted copies are views that are all read from 0 on.
    framed, columns = np.zeros((h + 2) * (w + 2), np.float32), np.zeros(h * (w + 2), np.float32)
    middle, lower = framed[w + 2 :], framed[2 * (w + 2) :]
    here, result = framed[w + 3 :], np.zeros(h * (w + 2), np.uint8)
    rows = result.reshape(h, w + 2)
    for i in range(len(images)):
        for c in range(3):
            _frame(images[i, c], framed)
            for j in range(columns.size):
                columns[j] = framed[j] + middle[j] + lower[j]
            for j in range(columns.size - 2):
                square = columns[j] + columns[j + 1] + columns[j + 2]
                value = here[j] * centre[i] - square * share[i] + np.float32(0.5)
                result[j] = np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))
            for y in range(h):
                for x in range(w):
                    out[i, c, y, x] = rows[y, x]


@njit(cache=True, nogil=True)
def _frame(plane: Pixels, out: FloatArray) -> None:
    """Copy a plane (h, w) to the middle of (h + 2, w + 2), as one row; borders mirrored without the edge."""
    h, w = plane.shape
    framed = out.reshape(h + 2, w + 2)
    for y in range(h):
        for x in range(w):
            framed[y + 1, x + 1] = plane[y, x]
        framed[y + 1, 0], framed[y + 1, w + 1] = framed[y + 1, min(2, w)], framed[y + 1, max(w - 1, 1)]
    for x in range(w + 2):
        framed[0, x], framed[h + 1, x] = framed[min(2, h), x], framed[max(h - 1, 1), x]
