"""Filters against OpenCV, SciPy and Pillow, image by image; corruptions and groups try them further."""

import cv2
import numpy as np
import pytest
import torch
from scipy import ndimage

from starter.operations.filters import gaussian, gaussian_each, read_at


def noise(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).uniform(0, 255, shape).astype(np.float32))


def test_gaussian_is_scipys() -> None:
    values = noise(2, 3, 9, 14)
    expected = ndimage.gaussian_filter(values.numpy(), (0, 0, 1.3, 1.3), mode="nearest", truncate=4)
    np.testing.assert_allclose(gaussian(values, 1.3), expected, atol=1e-3)


def test_gaussian_each_is_opencvs() -> None:
    values, sigmas, radii = noise(5, 2, 12, 15), np.array([0, 0.3, 1, 2, 3.0]), np.array([2, 2, 1, 3, 4])
    result = gaussian_each(values, torch.from_numpy(sigmas), torch.from_numpy(radii))
    assert torch.equal(result[0], values[0])
    for row in range(1, 5):
        size = (2 * radii[row] + 1,) * 2
        for channel in range(2):
            expected = cv2.GaussianBlur(
                values[row, channel].numpy(), size, sigmas[row], borderType=cv2.BORDER_REFLECT_101
            )
            np.testing.assert_allclose(result[row, channel], expected, atol=1e-3)


@pytest.mark.parametrize(
    ("outside", "mode"), [("black", "grid-constant"), ("mirror", "mirror"), ("reflect", "reflect")]
)
def test_reading_at_places_is_scipys(outside: str, mode: str) -> None:
    values, rng = noise(3, 2, 8, 11), np.random.default_rng(1)
    x, y = rng.uniform(-4, 14, (3, 8, 11)), rng.uniform(-4, 11, (3, 8, 11))
    result = read_at(values, torch.from_numpy(x).float(), torch.from_numpy(y).float(), outside)
    for row, channel in np.ndindex(3, 2):
        expected = ndimage.map_coordinates(values[row, channel].numpy(), [y[row], x[row]], order=1, mode=mode)
        np.testing.assert_allclose(result[row, channel], expected, atol=2e-2)
