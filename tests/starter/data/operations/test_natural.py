"""What natural shift changes, against per-image references, and that a set shares what it should."""

import cv2
import numpy as np
import pytest
from numpy.random import Generator, Philox
from tape import photographs, planar

from starter.data.operations.natural import FILTERS, NATURAL


def philox(key=0):
    return Generator(Philox(key=key))


def made(name, magnitudes, images):
    result = NATURAL[name].apply(planar(images), magnitudes, philox(1))
    return result.permute(0, 2, 3, 1).numpy().astype(float)


IMAGES = photographs(12, 32, 32)


def test_reframe_against_opencv():
    drawn = NATURAL["reframe"].draw(philox(3), len(IMAGES))
    found = made("reframe", drawn, IMAGES)
    for image, result, (sx, sy), (dx, dy) in zip(IMAGES, found, drawn["scale"], drawn["shift"], strict=True):
        matrix = np.array([[sx, 0, 15.5 * (1 - sx) + 32 * dx], [0, sy, 15.5 * (1 - sy) + 32 * dy]])
        expected = cv2.warpAffine(
            image, matrix, (32, 32), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT
        )
        assert np.abs(result - expected).mean() < 3  # OpenCV reads in steps of a 32nd of a pixel


def test_recolour_gives_each_channel_its_mean_and_deviation():
    drawn = {"mean": np.full((12, 3), [120, 110, 130]), "deviation": np.full((12, 3), 20.0)}
    found = made("recolour", {**drawn, "share": np.ones(12)}, IMAGES)
    for result in found:
        assert np.allclose(result.mean((0, 1)), [120, 110, 130], atol=2)
        assert np.allclose(result.std((0, 1)), 20, atol=2)
    half = made("recolour", {**drawn, "share": np.full(12, 0.5)}, IMAGES)
    assert np.abs(half - (IMAGES + found) / 2).max() <= 1


@pytest.mark.parametrize("there", range(len(FILTERS)))
def test_reencode_against_opencv(there):
    drawn = NATURAL["reencode"].draw(philox(there), len(IMAGES)) | {"there": np.full(12, there)}
    found = made("reencode", drawn, IMAGES)
    side = round(32 * drawn["scale"][0])
    for image, result, compression in zip(IMAGES, found, drawn["compression"], strict=True):
        kept = cv2.resize(image, (side, side), interpolation=FILTERS[there])
        quality = [cv2.IMWRITE_JPEG_QUALITY, round(100 - compression)]
        decoded = cv2.imdecode(cv2.imencode(".jpg", kept[..., ::-1], quality)[1], cv2.IMREAD_COLOR)
        expected = cv2.resize(decoded, (32, 32), interpolation=FILTERS[int(drawn["back"][0])])[..., ::-1]
        np.testing.assert_array_equal(result, expected)


def test_images_of_a_set_lie_about_what_the_set_shares():
    sizes, lights = [], []
    for key in range(40):
        scale = NATURAL["reframe"].draw(philox(key), 200)["scale"]
        assert np.log(scale).std() < 0.25
        sizes.append(np.exp(np.log(scale).mean()))
        mean = NATURAL["recolour"].draw(philox(key), 200)["mean"]
        assert mean.std() < 30
        lights.append(mean.mean())
        assert len(set(NATURAL["reencode"].draw(philox(key), 200)["scale"])) == 1
    assert min(sizes) < 0.8 < 1.25 < max(sizes)
    assert min(lights) < 95 < 160 < max(lights)
