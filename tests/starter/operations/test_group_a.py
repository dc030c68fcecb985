"""Group A image by image against naive forms of what imgaug does, from the same random draws."""

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.random import Generator, Philox
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageFilter
from scipy import ndimage
from tape import Replay, Tape, photographs, planar

from starter.operations.group_a import GROUP_A

Floats = NDArray[np.floating[Any]]
N = 24


def applied(name: str, images: NDArray[np.uint8]) -> tuple[NDArray[np.int64], Any, Tape]:
    operation, tape = GROUP_A[name], Tape(Generator(Philox(key=1)))
    drawn = operation.draw(Generator(Philox(key=2)), len(images), {})
    result = operation.apply(planar(images), drawn, {}, tape)  # type: ignore[arg-type]
    return result.permute(0, 2, 3, 1).numpy().astype(int), drawn, tape


def grayscale(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., None].astype(float)
    return np.rint(image + drawn["alpha"] * (grey - image))


def cubic(t: Floats) -> Floats:
    """The four weights of the pixels at -1, 0, 1, 2 from a place t in [0, 1) between 0 and 1."""
    a, far, near = -0.75, [1 + t, 2 - t], [t, 1 - t]
    outer = [a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a for d in far]
    inner = [(a + 2) * d**3 - (a + 3) * d**2 + 1 for d in near]
    return np.stack([outer[0], *inner, outer[1]])


def elastic(image: Floats, drawn: Any, tape: Replay) -> Floats:
    h, w = image.shape[:2]
    field = 2 * tape.next().astype(float) - 1
    sigma, reach = drawn["sigma"], drawn["reach"]
    dx, dy = (reach * cv2.GaussianBlur(part, (5, 5), sigma)[2:-2, 2:-2] for part in field)
    result = np.zeros(image.shape)
    for y, x in np.ndindex(h, w):
        place = y - dy[y, x], x - dx[y, x]
        (top, left), weights = np.floor(place).astype(int), [cubic(p - np.floor(p)) for p in np.array(place)]
        for i, j in np.ndindex(4, 4):
            row, column = top - 1 + i, left - 1 + j
            if 0 <= row < h and 0 <= column < w:
                result[y, x] += weights[0][i] * weights[1][j] * image[row, column]
    return np.rint(result)


def piecewise_affine(image: Floats, drawn: Any, tape: Replay) -> Floats:
    """Every triangle by the affine map of its corners."""
    h, w = image.shape[:2]
    rows, columns = drawn["points"]
    y, x = np.meshgrid(np.linspace(0, h, rows), np.linspace(0, w, columns), indexing="ij")
    to_y = (y + h * drawn["jitter"][0, :rows, :columns]).clip(0, h - 1)
    to_x = (x + w * drawn["jitter"][1, :rows, :columns]).clip(0, w - 1)
    places = np.zeros((2, h, w))
    for i, j in np.ndindex(rows - 1, columns - 1):
        for corners in (((0, 0), (1, 0), (0, 1)), ((1, 1), (1, 0), (0, 1))):
            index = tuple(np.array(corners).T + np.array([[i], [j]]))
            before, after = np.stack([x[index], y[index]], 1), np.stack([to_x[index], to_y[index]], 1)
            affine = cv2.getAffineTransform(before.astype(np.float32), after.astype(np.float32))
            for py, px in np.ndindex(h, w):
                v, u = py * (rows - 1) / h - i, px * (columns - 1) / w - j
                if 0 <= u <= 1 and 0 <= v <= 1 and (u + v <= 1) == (corners[0] == (0, 0)):
                    places[:, py, px] = (affine @ [px, py, 1])[::-1]
    channels = [
        ndimage.map_coordinates(image[..., c].astype(float), places, order=1, mode="grid-constant")
        for c in range(3)
    ]
    return np.rint(np.stack(channels, -1))


def invert(image: Floats, drawn: Any, tape: Replay) -> Floats:
    return np.where(drawn["applied"], 255 - image, image)


def blur(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    return np.asarray(Image.fromarray(image).filter(ImageFilter.BLUR))


def exposure(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    return np.asarray(ImageEnhance.Brightness(Image.fromarray(image)).enhance(drawn["factor"]))


def texture(exponent: float, drawn: Floats) -> Floats:
    """Waves summed one by one."""
    real, imaginary = drawn
    h, w = real.shape
    y, x = np.mgrid[:h, :w]
    total = np.zeros((h, w))
    for i, j in np.ndindex(h, w):
        frequency = math.hypot(min(i, h - i), min(j, w - j))
        if frequency:
            phase = 2 * np.pi * (i * y / h + j * x / w)
            total += frequency**exponent * (real[i, j] * np.cos(phase) - imaginary[i, j] * np.sin(phase))
    return (total - total.min()) / (total.max() - total.min())


def haze(image: Floats, drawn: Any, tape: Replay) -> Floats:
    veil, clouds = (texture(exponent, tape.next()) for exponent in drawn["exponents"])
    share = ((drawn["floor"] + 0.3 * veil) ** 0.9 * drawn["density"]).clip(0, 1)[..., None]
    light = (drawn["light"] * (0.8 + 0.4 * clouds)).clip(0, 255)[..., None]
    return np.floor((1 - share) * image + share * light)


def grain(image: Floats, drawn: Any, tape: Replay) -> Floats:
    noise = tape.next().transpose(1, 2, 0)
    noise = noise if drawn["coloured"] else noise[..., :1]
    return image + np.rint(drawn["scale"] * noise)


NAIVE: dict[str, Callable[[Any, Any, Replay], Floats]] = {
    function.__name__: function
    for function in (grayscale, elastic, piecewise_affine, invert, blur, exposure, haze, grain)
}


@pytest.mark.parametrize("size", [(16, 16), (14, 19)])
@pytest.mark.parametrize("name", GROUP_A)
def test_within_a_grey_level_of_the_naive_form(name: str, size: tuple[int, int]) -> None:
    images = photographs(N, *size)
    result, drawn, tape = applied(name, images)
    for row, image in enumerate(images):
        magnitudes = {key: values[row] for key, values in drawn.items()}
        reference = np.asarray(NAIVE[name](image, magnitudes, tape.replay(row)), dtype=float).clip(0, 255)
        assert np.abs(result[row] - reference).max() <= 1, row


def test_blur_and_exposure_are_pillows_to_the_bit() -> None:
    images = photographs(N, 32, 32)
    for name in ("blur", "exposure"):
        result, drawn, tape = applied(name, images)
        rows = [{key: values[row] for key, values in drawn.items()} for row in range(N)]
        reference = [NAIVE[name](image, row, tape.replay(0)) for image, row in zip(images, rows, strict=True)]
        assert np.mean(result != np.stack(reference)) < 1e-3


@pytest.mark.parametrize(
    ("name", "field", "low", "high"),
    [
        ("grayscale", "alpha", 0, 0.5),
        ("elastic", "reach", 0.5, 2.5),
        ("elastic", "sigma", 0.25, 0.5),
        ("exposure", "factor", 0.5, 1.5),
        ("haze", "floor", 0.7, 0.9),
        ("haze", "density", 0.4, 0.9),
        ("haze", "light", 220, 255),
        ("grain", "scale", 0, 6.375),
    ],
)
def test_magnitudes_fill_their_range_uniformly(name: str, field: str, low: float, high: float) -> None:
    values = GROUP_A[name].draw(Generator(Philox(key=3)), 4000, {})[field]
    assert low <= values.min() < low + 0.02 * (high - low)
    assert high - 0.02 * (high - low) < values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, abs=0.05 * (high - low))


def test_shares_and_spreads_are_the_published_ones() -> None:
    drawn = {name: GROUP_A[name].draw(Generator(Philox(key=4)), 8000, {}) for name in GROUP_A}
    assert drawn["invert"]["applied"].mean() == pytest.approx(0.05, abs=0.01)
    assert drawn["grain"]["coloured"].mean() == pytest.approx(0.5, abs=0.02)
    assert set(np.unique(drawn["piecewise_affine"]["points"])) == {2, 3, 4}
    assert drawn["piecewise_affine"]["jitter"].std() == pytest.approx(np.sqrt(0.0031 / 3), rel=0.02)


def test_haze_is_a_bright_veil_over_everything() -> None:
    """On black and on white images the share and the light can be told apart; imgaug's, measured on 400 of
    32 x 32: a mean share of .62, .047 within an image, and a mean light of 233, 16 within.
    """
    black, white = (
        applied("haze", np.full((400, 32, 32, 3), value, np.uint8))[0][..., 0] for value in (0, 255)
    )
    share = 1 - (white - black) / 255
    light = black / share
    assert share.mean() == pytest.approx(0.62, abs=0.02)
    assert share.std((1, 2)).mean() == pytest.approx(0.045, abs=0.01)
    assert light.mean() == pytest.approx(233, abs=3)
    assert light.std((1, 2)).mean() == pytest.approx(16, abs=2)
