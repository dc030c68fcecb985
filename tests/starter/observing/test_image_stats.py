"""Image statistics against a per-image loop with OpenCV and NumPy."""

import cv2
import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from starter.observing.image_stats import image_stats

IMAGES = arrays(np.uint8, st.tuples(st.integers(1, 3), st.integers(2, 9), st.integers(2, 9), st.just(3)))


def one_by_one(images):
    rows = []
    for image in images:
        blur = cv2.Laplacian(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.CV_64F).var()
        x = image / 256
        rows.append((image.astype(np.float64).var(), (-x * np.log(x + 1e-6)).mean(), blur))
    return np.array(rows)


def channels_first(images):
    return torch.from_numpy(images.transpose(0, 3, 1, 2).copy())


@given(IMAGES)
def test_agrees_with_opencv_and_numpy(images):
    np.testing.assert_allclose(image_stats(channels_first(images)), one_by_one(images), rtol=2e-6, atol=1e-5)


def test_neither_threads_nor_the_batch_change_anything():
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.integers(256, size=(253, 3, 16, 12), dtype=np.uint8))
    whole, threads = image_stats(images), torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.equal(image_stats(images), whole)
        assert torch.equal(torch.cat([image_stats(image[None]) for image in images]), whole)
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_allclose(whole, one_by_one(images.permute(0, 2, 3, 1).numpy()), rtol=2e-6)


def test_large_images_of_the_steepest_edges_and_the_largest_entropy_do_not_overflow():
    images = np.full((2, 301, 299, 3), 94, np.uint8)
    images[0] = 0
    images[0, ::2, ::2], images[0, 1::2, 1::2] = 255, 255
    np.testing.assert_allclose(image_stats(channels_first(images)), one_by_one(images), rtol=2e-6)
