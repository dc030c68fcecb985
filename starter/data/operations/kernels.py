"""Compiled inner loops of the set operations: one pass over an image while it is in the processor's cache.

Numba compiles each function on first use (in less than a second) and keeps the result beside this file or in
the user's cache folder. Every step is one float32 or integer operation, and the compiler may not reorder them
(no `fastmath`), so that the bytes are the same on every machine. Arrays are copied by loops: for an array put
into a slice, Numba compiles the text of an error for seconds. Images are uint8 (b, 3, h, w), contiguous;
results are written to `out`, of the same kind.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from submission.arrays import BoolArray, FloatArray, IntArray, Pixels

ROW_PIXELS = 512
"""Pixels that `warp_affine` reads at a time."""


def kernel(function: Callable[..., Any]) -> Any:
    """Returns the function, compiled on first use and kept beside its file or in the user's cache folder."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither folder can be written
        return njit(nogil=True)(function)


@kernel
def to_planes(base: Pixels, rows: IntArray, out: Pixels) -> None:
    """Copy the images number `rows` (b,) of `base`, uint8 (n, h, w, 3), to `out` with channels first."""
    for i, row in enumerate(rows):
        pixels, planes = base[row].reshape(-1), out[i].reshape(-1)
        n = pixels.size // 3
        for j in range(n):
            planes[j] = pixels[3 * j]
            planes[n + j] = pixels[3 * j + 1]
            planes[2 * n + j] = pixels[3 * j + 2]


@kernel
def scale_about(images: Pixels, factor: FloatArray, centre: float, out: Pixels) -> None:
    """Multiply distances from `centre` by factor (b, 3) and round."""
    about, above = np.float32(centre), np.float32(centre + 0.5)
    for i in range(len(images)):
        for c in range(3):
            _stretch(images[i, c].reshape(-1), about, factor[i, c], above, out[i, c].reshape(-1))


@kernel
def _stretch(values: Pixels, low: float, factor: float, offset: float, out: Pixels) -> None:
    for j in range(values.size):
        out[j] = np.uint8(
            min(max((np.float32(values[j]) - low) * factor + offset, np.float32(0)), np.float32(255))
        )


@kernel
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


@kernel
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


@kernel
def _first_above(counts: NDArray[np.int32], pixels: int) -> int:
    """Returns the lowest value such that more than `pixels` values are at most that value."""
    total = 0
    for value in range(255):
        total += counts[0, value]
        if total > pixels:
            return value
    return 255


@kernel
def blend_with_grey(images: Pixels, factor: FloatArray, above: float, out: Pixels) -> None:
    """Blend with Pillow's 16-bit grey: `factor` (b,) 0 is grey, 1 the image; `above` is added, cut off."""
    more = np.float32(above)
    for i in range(len(images)):
        pixels, result = images[i].reshape(3, -1), out[i].reshape(3, -1)
        red, green, blue = pixels[0], pixels[1], pixels[2]
        for j in range(red.size):
            weighted = np.int32(red[j]) * 19595 + np.int32(green[j]) * 38470 + np.int32(blue[j]) * 7471
            grey = np.float32((weighted + 32768) >> 16)
            for c in range(3):
                value = (np.float32(pixels[c, j]) - grey) * factor[i] + grey + more
                result[c, j] = np.uint8(min(max(value, np.float32(0)), np.float32(255)))


@kernel
def turn_hue(images: Pixels, factor: FloatArray, out: Pixels) -> None:
    """Multiply H of HSV, in sixths of a turn, by `factor` (b,) in 0..1.5 and drop whole turns; rounded."""
    one, two, four, six = np.float32(1), np.float32(2), np.float32(4), np.float32(6)
    for i in range(len(images)):
        pixels, result = images[i].reshape(3, -1), out[i].reshape(3, -1)
        for j in range(pixels.shape[1]):
            red, green, blue = np.float32(pixels[0, j]), np.float32(pixels[1, j]), np.float32(pixels[2, j])
            top = max(max(red, green), blue)
            spread = top - min(min(red, green), blue)
            sixths = two * spread + blue - red if top == green else four * spread + red - green
            sixths = (green - blue if top == red else sixths) / max(spread, one)
            sixths = (sixths + six if sixths < 0 else sixths) * factor[i]
            for c in range(3):
                away = sixths + np.float32(5 - 2 * c)
                away = away - six if away >= six else away
                away = away - six if away >= six else away
                share = min(max(min(away, four - away), np.float32(0)), one)
                result[c, j] = np.uint8(top - share * spread + np.float32(0.5))


@kernel
def stretch_saturation(images: Pixels, factor: float, offset: FloatArray, above: float, out: Pixels) -> None:
    """Change S of HSV, in 0..1, to factor * S + `offset` (b,): distances from the largest colour grow with S.

    Grey has hue 0 and so turns red. `above` is added, and fractions are cut off.
    """
    times, more, one = np.float32(factor), np.float32(above), np.float32(1)
    for i in range(len(images)):
        pixels, result = images[i].reshape(3, -1), out[i].reshape(3, -1)
        for j in range(pixels.shape[1]):
            red, green, blue = np.float32(pixels[0, j]), np.float32(pixels[1, j]), np.float32(pixels[2, j])
            top = max(max(red, green), blue)
            spread = top - min(min(red, green), blue)
            wanted = min(max(spread * times + top * offset[i], np.float32(0)), top) / max(spread, one)
            grey = one if spread == 0 else np.float32(0)
            result[0, j] = np.uint8(top - (top - red) * wanted + more)
            result[1, j] = np.uint8(top - (top - green + grey) * wanted + more)
            result[2, j] = np.uint8(top - (top - blue + grey) * wanted + more)


@kernel
def warp_affine(images: Pixels, inverse: FloatArray, applied: BoolArray, out: Pixels) -> None:
    """Read pixels (x, y, 1) at `inverse` (b, 2, 3) times them if `applied`; bilinear, black outside."""
    h, w = images.shape[2:]
    # A pixel is one integer, one byte per colour; a black frame of one pixel surrounds the image. Some
    # rows are read at once: long loops, and still in the processor's cache.
    step = max(ROW_PIXELS // w, 1)
    framed = np.zeros((h + 2) * (w + 2), np.int32)
    corners = np.empty((4, step * w), np.int32)
    corner = np.empty(step * w, np.uint64)
    far_x = np.empty(step * w, np.float32)
    far_y = np.empty(step * w, np.float32)
    for i in range(len(images)):
        if not applied[i]:
            _copy(images[i].reshape(-1), out[i].reshape(-1))
            continue
        _pack(images[i], framed)
        planes = out[i].reshape(3, -1)
        for top_row in range(0, h, step):
            rows = min(step, h - top_row)
            for k in range(rows):
                y = np.float32(top_row + k)
                _places(
                    inverse[i], y, (h, w), corner=corner[k * w :], far_x=far_x[k * w :], far_y=far_y[k * w :]
                )
            _gather(framed, np.uint64(w + 2), corner[: rows * w], corners)
            for c in range(3):
                done = planes[c, top_row * w : (top_row + rows) * w]
                _between(corners, np.int32(8 * c), far_x, far_y, done)


@kernel
def _copy(values: Pixels, out: Pixels) -> None:
    for j in range(values.size):
        out[j] = values[j]


@kernel
def _places(
    inverse: FloatArray,
    y: float,
    size: tuple[int, int],
    corner: NDArray[np.uint64],
    far_x: FloatArray,
    far_y: FloatArray,
) -> None:
    """Write where row `y` is read: the upper left pixel in the framed image, and the way right and down."""
    h, w = size
    start_x = inverse[0, 1] * y + inverse[0, 2]
    start_y = inverse[1, 1] * y + inverse[1, 2]
    for x in range(w):
        # Everything beyond the frame is black, like the frame.
        place_x = _within(inverse[0, 0] * np.float32(x) + start_x, w)
        place_y = _within(inverse[1, 0] * np.float32(x) + start_y, h)
        left = min(np.int32(place_x), np.int32(w))
        top = min(np.int32(place_y), np.int32(h))
        corner[x] = np.int32(top * np.int32(w + 2)) + left
        far_x[x] = place_x - np.float32(left)
        far_y[x] = place_y - np.float32(top)


@kernel
def _gather(
    framed: NDArray[np.int32], side: int, corner: NDArray[np.uint64], corners: NDArray[np.int32]
) -> None:
    """Read the four pixels from each of `corner` (w,) on, in an image of rows of `side` pixels."""
    for j in range(corner.size):
        at = corner[j]
        corners[0, j] = framed[at]
        corners[1, j] = framed[at + np.uint64(1)]
        at += side
        corners[2, j] = framed[at]
        corners[3, j] = framed[at + np.uint64(1)]


@kernel
def _pack(image: Pixels, out: NDArray[np.int32]) -> None:
    """Pack an image (3, h, w) into the middle of (h + 2, w + 2) integers, stored as one row."""
    _, h, w = image.shape
    framed = out.reshape(h + 2, w + 2)
    for y in range(h):
        for x in range(w):
            low, high = np.int32(image[0, y, x]), np.int32(image[2, y, x]) << np.int32(16)
            framed[y + 1, x + 1] = np.int32(low | np.int32(image[1, y, x]) << np.int32(8)) | np.int32(high)


@kernel
def _within(place: float, n: int) -> float:
    """Returns a place clipped to -1..n, plus 1: an index into the framed image."""
    return min(max(place, np.float32(-1)), np.float32(n)) + np.float32(1)


@kernel
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


@kernel
def less_square(images: Pixels, centre: FloatArray, share: FloatArray, out: Pixels) -> None:
    """Write `centre` (b,) times a value less `share` (b,) times its 3 x 3, rounded; borders reflected."""
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


@kernel
def add_slopes(
    images: Pixels, padded: FloatArray, diagonal: FloatArray, straight: FloatArray, out: Pixels
) -> None:
    """Add `diagonal` (b,) times the rise to the lower right, `straight` times those right and down."""
    h, w = images.shape[2:]
    result = np.zeros(h * (w + 2), np.uint8)
    rows = result.reshape(h, w + 2)
    for i in range(len(images)):
        for c in range(3):
            framed = padded[i, c].reshape(-1)
            upper, lower = framed[1:], framed[2 * (w + 2) :]
            left, here, right = framed[w + 2 :], framed[w + 3 :], framed[w + 4 :]
            after, below = lower[2:], lower[1:]
            for j in range(result.size - 2):
                value = (after[j] - framed[j]) * diagonal[i]
                value += (below[j] - upper[j] + right[j] - left[j]) * straight[i]
                value += here[j]
                value += np.float32(0.5)
                result[j] = np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))
            for y in range(h):
                for x in range(w):
                    out[i, c, y, x] = rows[y, x]


@kernel
def blur(padded: FloatArray, weights: FloatArray, out: FloatArray) -> None:
    """Blur planes (b, c, h + taps - 1, w + taps - 1) by `weights` (b, taps), down, then across: (b, c, h, w).

    Tap is added after tap in float32; weights of 0 at both ends are skipped.
    """
    h, w = out.shape[2:]
    wide, taps = padded.shape[3], weights.shape[1]
    down, across = np.zeros(h * wide, np.float32), np.zeros((h, wide), np.float32)
    result = across.reshape(-1)[: h * wide - taps + 1]
    for i in range(len(padded)):
        first, last = 0, taps
        while weights[i, first] == 0:
            first += 1
        while weights[i, last - 1] == 0:
            last -= 1
        for c in range(padded.shape[1]):
            plane = padded[i, c].reshape(-1)
            down[:], across[:] = 0, 0
            for k in range(first, last):
                _add_times(plane[k * wide :], weights[i, k], down)
            for k in range(first, last):
                _add_times(down[k:], weights[i, k], result)
            for y in range(h):
                for x in range(w):
                    out[i, c, y, x] = across[y, x]


@kernel
def _add_times(values: FloatArray, weight: float, total: FloatArray) -> None:
    """Add as many values, times the weight, to the total."""
    for j in range(total.size):
        total[j] += values[j] * weight


@kernel
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
