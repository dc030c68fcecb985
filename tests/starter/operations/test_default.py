"""Each operation image by image against an independent implementation, and what all operations promise."""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from numpy.random import Generator, Philox
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageOps
from scipy import ndimage
from torchvision.transforms.v2 import functional

from starter.operations.default import TRANSFORMS, inverse_affine
from starter.operations.operation import Magnitudes

SIZES = [(32, 32), (7, 12)]
N = 40


def philox(key: int = 0) -> Generator:
    return Generator(Philox(key=key))


def random_images(n: int, height: int, width: int) -> NDArray[np.uint8]:
    """(n, h, w, 3): noise, some of low contrast, some flat, with 0 and 255 among them."""
    rng = np.random.default_rng(height)
    images = rng.integers(0, 256, (n, height, width, 3))
    images[::4] = 90 + images[::4] // 5
    images[::7, :, :, 1] = 77
    images[::9, 0, 0] = 255
    images[1::9, 0, 0] = 0
    return images.astype(np.uint8)


def smooth_images(n: int, height: int, width: int) -> NDArray[np.uint8]:
    noise = np.random.default_rng(1).uniform(0, 255, (n, height, width, 3))
    return (128 + 3 * (ndimage.gaussian_filter(noise, (0, 3, 3, 0)) - 128)).clip(0, 255).astype(np.uint8)


def planar(images: NDArray[np.uint8]) -> torch.Tensor:
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()


def apply(name: str, images: NDArray[np.uint8]) -> tuple[NDArray[np.int64], Magnitudes]:
    """The operation's result as (n, h, w, 3), and the magnitudes drawn for it."""
    magnitudes = TRANSFORMS[name].draw(philox(), len(images), {})
    result = TRANSFORMS[name].apply(planar(images), magnitudes, {}, philox(1))
    return result.permute(0, 2, 3, 1).numpy().astype(int), magnitudes


def difference(result: NDArray[np.int64], reference: Sequence[NDArray[Any]]) -> int:
    return int(np.abs(result - np.stack(reference)).max())


@pytest.mark.parametrize("size", SIZES)
def test_autocontrast_is_pillows(size: tuple[int, int]) -> None:
    images = random_images(N, *size)
    result, drawn = apply("autocontrast", images)
    pairs = zip(images, drawn["cutoff"], strict=True)
    reference = [np.asarray(ImageOps.autocontrast(Image.fromarray(x), cutoff=int(c))) for x, c in pairs]
    assert difference(result, reference) <= 1
    assert len(set(drawn["cutoff"])) > 10
    assert drawn["cutoff"].min() >= 0
    assert drawn["cutoff"].max() <= 20


@pytest.mark.parametrize("size", SIZES)
def test_brightness_is_opencvs_scaling(size: tuple[int, int]) -> None:
    images = random_images(N, *size)
    result, drawn = apply("brightness", images)
    pairs = zip(images, drawn["factor"], strict=True)
    reference = [cv2.transform(x, np.diag(f)) for x, f in pairs]
    assert difference(result, reference) <= 1


@pytest.mark.parametrize("size", SIZES)
def test_color_is_pillows_to_the_bit(size: tuple[int, int]) -> None:
    images = random_images(N, *size)
    result, drawn = apply("color", images)
    pairs = zip(images, drawn["factor"], strict=True)
    reference = [np.asarray(ImageEnhance.Color(Image.fromarray(x)).enhance(float(f))) for x, f in pairs]
    assert difference(result, reference) <= 1
    assert np.mean(result != np.stack(reference)) < 1e-3


@pytest.mark.parametrize("size", SIZES)
def test_solarize_is_torchvisions_to_the_bit(size: tuple[int, int]) -> None:
    images = random_images(N, *size)
    result, drawn = apply("solarize", images)
    rows = zip(planar(images), drawn["threshold"], drawn["applied"], strict=True)
    reference = [functional.solarize(x, float(t)) if applied else x for x, t, applied in rows]
    assert difference(result, [x.permute(1, 2, 0).numpy() for x in reference]) == 0
    assert 5 < drawn["applied"].sum() < N - 5


@pytest.mark.parametrize("size", SIZES)
def test_contrast_is_opencvs_weighting_about_127(size: tuple[int, int]) -> None:
    images = random_images(N, *size)
    result, drawn = apply("contrast", images)
    reference = []
    for image, factors in zip(images, drawn["factor"].astype(float), strict=True):
        channels = [
            cv2.addWeighted(image[..., c], f, image[..., c], 0, 127 * (1 - f)) for c, f in enumerate(factors)
        ]
        reference.append(np.stack(channels, -1))
    assert difference(result, reference) <= 1


def forward_affine(drawn: Magnitudes, row: int | np.integer, height: int, width: int) -> NDArray[np.float64]:
    """The 3 x 3 matrix as a product of its steps, for OpenCV's and SciPy's functions."""
    cx, cy = (width - 1) / 2, (height - 1) / 2
    angle = np.deg2rad(drawn["angle"][row])
    to_origin = np.array([[1, 0, -cx], [0, 1, -cy], [0, 0, 1]])
    scale = np.diag([*drawn["scale"][row], 1])
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    sx, sy = drawn["shift"][row]
    back = np.array([[1, 0, cx + sx * width], [0, 1, cy + sy * height], [0, 0, 1]])
    return back @ turn @ scale @ to_origin


@pytest.mark.parametrize("size", SIZES)
def test_affine_is_scipys_bilinear_interpolation(size: tuple[int, int]) -> None:
    images = random_images(N, *size)
    result, drawn = apply("affine", images)
    flip = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])  # SciPy's points are (y, x)
    reference = []
    for row, image in enumerate(images):
        inverse = flip @ np.linalg.inv(forward_affine(drawn, row, *size)) @ flip
        moved = [
            ndimage.affine_transform(image[..., c].astype(float), inverse, order=1, mode="grid-constant")
            for c in range(3)
        ]
        reference.append(np.rint(np.stack(moved, -1)).astype(np.uint8) if drawn["applied"][row] else image)
    assert difference(result, reference) <= 1


def test_affine_is_opencvs_warp_but_for_its_fixed_point() -> None:
    """OpenCV's warpAffine rounds places to 1/32 pixel: on smooth images, away from the black outside, that is
    a few grey levels at most.
    """
    images = smooth_images(N, 32, 32)
    result, drawn = apply("affine", images)
    for row in np.flatnonzero(drawn["applied"]):
        forward = forward_affine(drawn, row, 32, 32)[:2]
        inside = cv2.warpAffine(np.full((32, 32), 255, np.uint8), forward, (32, 32)) == 255
        inside = cv2.erode(inside.astype(np.uint8), np.ones((3, 3), np.uint8), borderValue=0) == 1
        reference = cv2.warpAffine(images[row], forward, (32, 32)).astype(int)
        gaps = np.abs(result[row] - reference)[inside]
        assert gaps.max() <= 4
        assert gaps.mean() < 1


def test_inverse_affine_undoes_the_forward_matrix() -> None:
    drawn = TRANSFORMS["affine"].draw(philox(), 5, {})
    for row, inverse in enumerate(inverse_affine(drawn, 9, 14)):
        np.testing.assert_allclose(inverse @ forward_affine(drawn, row, 9, 14), np.eye(3)[:2], atol=1e-9)


@pytest.mark.parametrize("size", [*SIZES, (2, 2), (1, 5), (6, 1)])
def test_sharpen_is_opencvs_filter(size: tuple[int, int]) -> None:
    images = random_images(N, *size)
    result, drawn = apply("sharpen", images)
    reference = []
    for image, alpha, lightness in zip(images, drawn["alpha"], drawn["lightness"], strict=True):
        kernel = np.full((3, 3), -alpha)
        kernel[1, 1] = 1 - alpha + alpha * (8 + lightness)
        reference.append(cv2.filter2D(image, -1, kernel, borderType=cv2.BORDER_REFLECT_101))
    assert difference(result, reference) <= 1


@pytest.mark.parametrize(
    ("name", "field", "low", "high"),
    [
        ("brightness", "factor", 0.1, 1.9),
        ("color", "factor", 0, 3),
        ("contrast", "factor", 0.5, 2),
        ("solarize", "threshold", 32, 128),
        ("affine", "scale", 0.8, 1.2),
        ("affine", "shift", -0.2, 0.2),
        ("affine", "angle", -30, 30),
        ("sharpen", "alpha", 0.1, 1),
        ("sharpen", "lightness", 0.8, 1.2),
    ],
)
def test_magnitudes_fill_their_range_uniformly(name: str, field: str, low: float, high: float) -> None:
    values = TRANSFORMS[name].draw(philox(), 4000, {})[field]
    assert low <= values.min() < low + 0.02 * (high - low)
    assert high - 0.02 * (high - low) < values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, abs=0.05 * (high - low))


@pytest.mark.parametrize(("name", "share"), [("brightness", 0.2), ("contrast", 0.5)])
def test_factors_differ_by_channel_with_the_stated_probability(name: str, share: float) -> None:
    factors = TRANSFORMS[name].draw(philox(), 4000, {})["factor"]
    assert (factors != factors[:, :1]).any(axis=1).mean() == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_bytes_do_not_depend_on_the_batch(name: str) -> None:
    operation, images = TRANSFORMS[name], planar(random_images(150, 19, 21))
    drawn = operation.draw(philox(), 150, {})
    whole = operation.apply(images, drawn, {}, philox(1))
    for size in (1, 64):
        parts = [
            operation.apply(
                images[i : i + size], {k: v[i : i + size] for k, v in drawn.items()}, {}, philox(1)
            )
            for i in range(0, 150, size)
        ]
        assert torch.equal(torch.cat(parts), whole)
