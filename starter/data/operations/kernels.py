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


def kernel(function: Callable[..., Any]) -> Any:
    """Returns the function, compiled on first use and kept beside its file or in the user's cache folder."""
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # neither folder can be written
        return njit(nogil=True, error_model="numpy")(function)


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
    counts = np.empty(256, np.int32)
    for i in range(len(images)):
        for c in range(3):
            values = images[i, c].reshape(-1)
            counts[:] = 0
            for j in range(values.size):
                counts[values[j]] += 1
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
def _first_above(counts: NDArray[np.int32], pixels: int) -> int:
    """Returns the lowest value such that more than `pixels` values are at most that value."""
    total = 0
    for value in range(255):
        total += counts[value]
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
    """Change S of HSV, in 0..1, to factor * S + `offset` (b,): distances from the top colour grow with S."""
    # Grey has hue 0 and so turns red. `above` is added, and fractions are cut off.
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
    framed = np.zeros((3, h + 2, w + 2), np.float32)
    planes = framed.reshape(3, -1)
    for i in range(len(images)):
        for c in range(3):
            for y in range(h):
                for x in range(w):
                    out[i, c, y, x] = images[i, c, y, x]
                    framed[c, y + 1, x + 1] = images[i, c, y, x]
        for y in range(h if applied[i] else 0):
            for x in range(w):
                place_x = _within(inverse[i, 0], x, y, w)
                place_y = _within(inverse[i, 1], x, y, h)
                left, top = min(np.int32(place_x), np.int32(w)), min(np.int32(place_y), np.int32(h))
                corner = np.uint64(top * np.int32(w + 2) + left)
                far = place_x - np.float32(left), place_y - np.float32(top)
                for c in range(3):
                    out[i, c, y, x] = _between(planes[c], corner, np.uint64(w + 2), far)


@kernel
def _within(row: FloatArray, x: int, y: int, n: int) -> float:
    """Returns the place row (3,) times (x, y, 1), clipped to -1..n, plus 1: beyond the frame all is black."""
    place = row[0] * np.float32(x) + (row[1] * np.float32(y) + row[2])
    return min(max(place, np.float32(-1)), np.float32(n)) + np.float32(1)


@kernel
def _between(plane: FloatArray, corner: int, width: int, far: tuple[float, float]) -> int:
    """Returns the value `far` right of and below the `corner` of a plane in rows of a width, rounded."""
    below, one = corner + width, np.uint64(1)
    upper = plane[corner] + far[0] * (plane[corner + one] - plane[corner])
    lower = plane[below] + far[0] * (plane[below + one] - plane[below])
    return np.uint8(np.int32(upper + far[1] * (lower - upper) + np.float32(0.5)))


@kernel
def less_square(images: Pixels, centre: FloatArray, share: FloatArray, out: Pixels) -> None:
    """Write `centre` (b,) times a value less `share` (b,) times its 3 x 3, rounded; borders reflected."""
    h, w = images.shape[2:]
    framed, columns = np.empty((h + 2, w + 2), np.float32), np.empty(w + 2, np.float32)
    for i in range(len(images)):
        for c in range(3):
            _frame(images[i, c], framed)
            for y in range(h):
                above, here, below = framed[y], framed[y + 1], framed[y + 2]
                for x in range(w + 2):
                    columns[x] = above[x] + here[x] + below[x]
                for x in range(w):
                    square = columns[x] + columns[x + 1] + columns[x + 2]
                    value = here[x + 1] * centre[i] - square * share[i] + np.float32(0.5)
                    out[i, c, y, x] = np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))


@kernel
def add_slopes(
    images: Pixels, framed: FloatArray, diagonal: FloatArray, straight: FloatArray, out: Pixels
) -> None:
    """Add `diagonal` (b,) times the rise to the lower right, `straight` times those right and down."""
    h, w = images.shape[2:]
    for i in range(len(out)):
        for c in range(3):
            for y in range(h):
                above, here, below = framed[i, c, y], framed[i, c, y + 1], framed[i, c, y + 2]
                for x in range(w):
                    value = (below[x + 2] - above[x]) * diagonal[i]
                    value += (below[x + 1] - above[x + 1] + here[x + 2] - here[x]) * straight[i]
                    value += here[x + 1]
                    value += np.float32(0.5)
                    out[i, c, y, x] = np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))


@kernel
def blur(padded: FloatArray, weights: FloatArray, out: FloatArray) -> None:
    """Blur planes (b, c, h + taps - 1, ...), down, then across, tap after tap: (b, c, h, w)."""
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
    """Copy a plane (h, w) to the middle of `out` (h + 2, w + 2); borders mirrored without the edge."""
    h, w = plane.shape
    for y in range(h):
        for x in range(w):
            out[y + 1, x + 1] = plane[y, x]
        out[y + 1, 0], out[y + 1, w + 1] = out[y + 1, min(2, w)], out[y + 1, max(w - 1, 1)]
    for x in range(w + 2):
        out[0, x], out[h + 1, x] = out[min(2, h), x], out[max(h - 1, 1), x]
