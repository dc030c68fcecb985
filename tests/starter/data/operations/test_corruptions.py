"""Each corruption image by image against a naive form of the published one (`make_cifar_c`), written with
SciPy, OpenCV, Pillow and loops, from the same random draws; then what noise is like, and severities.
"""

import math
from io import BytesIO

import cv2
import numpy as np
import pytest
import torch
from naive import in_hsv
from numpy.random import Generator, Philox
from PIL import Image
from scipy import ndimage
from tape import Tape, photographs, planar

from starter.data.operations.corruptions import CORRUPTIONS
from starter.data.operations.filters import ice, plasma

SEVERITIES = (1, 2, 3, 4, 5)
N = 4


def corrupt(name, images, severity):
    operation, params, tape = CORRUPTIONS[name], {"severity": severity}, Tape(Generator(Philox(key=1)))
    drawn = operation.draw(Generator(Philox(key=2)), len(images))
    result = operation.apply(planar(images), {**params, **drawn}, tape)
    assert result.dtype == torch.uint8
    return result.permute(0, 2, 3, 1).numpy(), drawn, tape


# ---- the naive forms: image (h, w, 3) uint8, severity, this image's magnitudes and draws -> values on 0..255


def hwc(values):
    return values.transpose(1, 2, 0)


def gaussian_noise(image, severity, drawn, tape):
    return image + 255 * (0.04, 0.06, 0.08, 0.09, 0.10)[severity - 1] * hwc(tape.next())


def shot_noise(image, severity, drawn, tape):
    return hwc(tape.next()) / (500, 250, 100, 75, 50)[severity - 1] * 255


def impulse_noise(image, severity, drawn, tape):
    amount, u = (0.01, 0.02, 0.03, 0.05, 0.07)[severity - 1], hwc(tape.next())
    return np.where(u < amount / 2, 255, np.where(u < amount, 0, image))


def speckle_noise(image, severity, drawn, tape):
    return image + image * (0.06, 0.1, 0.12, 0.16, 0.2)[severity - 1] * hwc(tape.next())


def blurred(image, sigma):
    return ndimage.gaussian_filter(image.astype(float), (sigma, sigma, 0), mode="nearest", truncate=4)


def gaussian_blur(image, severity, drawn, tape):
    return blurred(image, (0.4, 0.6, 0.7, 0.8, 1)[severity - 1])


def defocus_blur(image, severity, drawn, tape):
    radius, alias = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))[severity - 1]
    x, y = np.meshgrid(np.arange(-8, 9), np.arange(-8, 9))
    disk = (x**2 + y**2 <= radius**2).astype(np.float32)
    kernel = cv2.GaussianBlur(disk / disk.sum(), (3, 3), alias)
    return np.stack([cv2.filter2D(image[..., c].astype(float), -1, kernel) for c in range(3)], -1)


def glass_blur(image, severity, drawn, tape):
    """With the authors' swap of array views."""
    sigma, rounds = ((0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2))[severity - 1]
    x = (blurred(image, sigma) + 1e-6).astype(np.uint8)
    for _ in range(rounds):
        up, left = tape.next()[:, 0]
        for h in range(image.shape[0] - 1, 1, -1):
            for w in range(image.shape[1] - 1, 1, -1):
                a, b = h - int(up[h - 2, w - 2]), w - int(left[h - 2, w - 2])
                x[h, w], x[a, b] = x[a, b], x[h, w]
    return blurred(x, sigma)


def moved_mean(image, radius, sigma, degrees):
    """ImageMagick's motion blur, pixel by pixel."""
    width, angle = 2 * radius + 1, math.radians(degrees)
    kernel = np.exp(-(np.arange(width) ** 2) / (2 * sigma**2))
    kernel /= kernel.sum()
    result = np.zeros(image.shape)
    h, w = image.shape[:2]
    for i, weight in enumerate(kernel):
        dx, dy = math.ceil(i * math.cos(angle) - 0.5), math.ceil(i * math.sin(angle) - 0.5)
        for y in range(h):
            for x in range(w):
                result[y, x] += weight * image[min(max(y + dy, 0), h - 1), min(max(x + dx, 0), w - 1)]
    return result


def motion_blur(image, severity, drawn, tape):
    radius, sigma = ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))[severity - 1]
    return moved_mean(image, radius, sigma, drawn["degrees"]) + 0.5


def clipped_zoom(image, factor):
    h = image.shape[0]
    crop = math.ceil(h / factor)
    top = (h - crop) // 2
    zoomed = ndimage.zoom(image[top : top + crop, top : top + crop], (factor, factor, 1), order=1)
    trim = (zoomed.shape[0] - h) // 2
    return zoomed[trim : trim + h, trim : trim + h]


def zoom_blur(image, severity, drawn, tape):
    factors = np.arange(1, (1.06, 1.11, 1.16, 1.21, 1.26)[severity - 1], 0.01)
    total = sum(clipped_zoom(image.astype(float), factor) for factor in factors)
    return (image + total) / (len(factors) + 1)


def naive_plasma(size, decay, tape):
    field, step, wobble = np.zeros((size, size)), size, 100.0
    while step >= 2:
        half = step // 2
        noise = tape.next()
        for i, y in enumerate(range(half, size, step)):
            for j, x in enumerate(range(half, size, step)):
                corners = [
                    field[(y + a) % size, (x + b) % size] for a in (-half, half) for b in (-half, half)
                ]
                field[y, x] = sum(corners) / 4 + wobble * noise[i, j]
        for rows, columns in ((0, half), (half, 0)):
            noise = tape.next()
            for i, y in enumerate(range(rows, size, step)):
                for j, x in enumerate(range(columns, size, step)):
                    sides = [(y - half, x), (y + half, x), (y, x - half), (y, x + half)]
                    field[y, x] = sum(field[a % size, b % size] for a, b in sides) / 4 + wobble * noise[i, j]
        step, wobble = half, wobble / decay
    field -= field.min()
    return field / field.max()


def fog(image, severity, drawn, tape):
    amount, decay = ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))[severity - 1]
    x = image / 255
    top = x.max()
    x = x + amount * naive_plasma(32, decay, tape)[: x.shape[0], : x.shape[1], None]
    return x * top / (top + amount) * 255


def frost(image, severity, drawn, tape):
    share, amount = ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))[severity - 1]
    texture = ice(tape, 1, max(image.shape[:2]))[0].numpy()
    return share * image + amount * hwc(texture)[: image.shape[0], : image.shape[1]]


def snow(image, severity, drawn, tape):
    mean, scale, factor, floor, radius, sigma, share = (
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    )[severity - 1]
    layer = clipped_zoom(mean + scale * hwc(tape.next()), factor)
    layer = (np.where(layer < floor, 0, layer).clip(0, 1) * 255).astype(np.uint8)
    layer = (moved_mean(layer, int(radius), sigma, drawn["degrees"]) + 0.5).astype(np.uint8)
    x = image.astype(np.float32) / 255
    grey = cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)[..., None]
    x = share * x + (1 - share) * np.maximum(x, grey * 1.5 + 0.5)
    return x * 255 + layer + np.rot90(layer, k=2)


def spatter(image, severity, drawn, tape):
    mean, scale, sigma, floor, strength, mud = (
        (0.62, 0.1, 0.7, 0.7, 0.5, 0),
        (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1, 0.69, 0.5, 0),
        (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    )[severity - 1]
    liquid = ndimage.gaussian_filter(mean + scale * tape.next()[0].astype(float), sigma, mode="nearest")
    liquid[liquid < floor] = 0
    x = image / 255
    if mud:
        m = ndimage.gaussian_filter((liquid > floor).astype(float), strength, mode="nearest")[..., None]
        m[m < 0.8] = 0
        return (x * (1 - m) + m * np.array([63, 42, 20]) / 255) * 255
    layer = (liquid.clip(0, 1) * 255).astype(np.uint8)  # the authors' cast lets a rare value above 1 wrap
    dist = cv2.distanceTransform(255 - cv2.Canny(layer, 50, 150), cv2.DIST_L2, 5)
    _, dist = cv2.threshold(dist, 20, 20, cv2.THRESH_TRUNC)
    dist = cv2.equalizeHist(cv2.blur(dist, (3, 3)).astype(np.uint8))
    dist = cv2.filter2D(dist, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    m = layer * cv2.blur(dist, (3, 3)).astype(np.float32)
    m *= strength / m.max()
    return (x + m[..., None] * np.array([175, 238, 238]) / 255) * 255


def brighten(image, severity, drawn, tape):
    amount = (0.05, 0.1, 0.15, 0.2, 0.3)[severity - 1]
    return in_hsv(image, lambda h, s, v: (h, s, min(v + amount, 1)))


def saturate(image, severity, drawn, tape):
    factor, offset = ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))[severity - 1]
    return in_hsv(image, lambda h, s, v: (h, min(s * factor + offset, 1), v))


def low_contrast(image, severity, drawn, tape):
    means = image.mean((0, 1), keepdims=True)
    return (image - means) * (0.75, 0.5, 0.4, 0.3, 0.15)[severity - 1] + means


def elastic_transform(image, severity, drawn, tape):
    rows = ((0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03))
    alpha, sigma, shake = 32 * np.array(rows[severity - 1])
    centre, reach = np.array([16.0, 16.0]), 10
    before = np.array([centre + reach, centre + np.array([reach, -reach]), centre - reach])
    after = before + shake * drawn["corners"]
    forward = cv2.getAffineTransform(before.astype(np.float32), after.astype(np.float32))
    (a, b, c), (d, e, f) = cv2.invertAffineTransform(forward)
    y, x = np.mgrid[:32, :32].astype(float)
    places = [d * x + e * y + f, a * x + b * y + c]
    channels = image.astype(float).transpose(2, 0, 1)
    moved = [ndimage.map_coordinates(channel, places, order=1, mode="mirror") for channel in channels]
    if alpha:
        noise = np.float64(tape.next())
        fields = [ndimage.gaussian_filter(u, sigma, mode="reflect", truncate=3) for u in noise]
        places = [y + alpha * fields[1], x + alpha * fields[0]]
        moved = [ndimage.map_coordinates(channel, places, order=1, mode="reflect") for channel in moved]
    return np.stack(moved, -1)


def pixelate(image, severity, drawn, tape):
    share = (0.95, 0.9, 0.85, 0.75, 0.65)[severity - 1]
    h, w = image.shape[:2]
    small = Image.fromarray(image).resize((int(w * share), int(h * share)), Image.Resampling.BOX)
    return np.asarray(small.resize((w, h), Image.Resampling.BOX))


def jpeg_compression(image, severity, drawn, tape):
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=(80, 65, 58, 50, 40)[severity - 1])
    return np.asarray(Image.open(buffer))


NAIVE = {name: globals()[name] for name in CORRUPTIONS}


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_within_a_grey_level_of_the_naive_form(name, severity):
    images = photographs(N, 32, 32)
    result, drawn, tape = corrupt(name, images, severity)
    for row, image in enumerate(images):
        magnitudes = {key: values[row] for key, values in drawn.items()}
        reference = NAIVE[name](image, severity, magnitudes, tape.replay(row))
        reference = np.asarray(reference, dtype=float).clip(0, 255)
        assert np.abs(result[row] - np.floor(reference + 1e-6)).max() <= 1, row


def test_noise_has_the_published_moments():
    grey = np.full((64, 32, 32, 3), 120, np.uint8)
    moments = {"gaussian_noise": (119.5, 0.08 * 255), "speckle_noise": (119.5, 0.12 * 120)}
    for name, expected in {**moments, "shot_noise": (120, math.sqrt(120 * 255 / 100))}.items():
        result = corrupt(name, grey, 3)[0].astype(float)
        assert result.mean() == pytest.approx(expected[0], abs=0.6)
        assert result.std() == pytest.approx(expected[1], rel=0.02)
    salted = corrupt("impulse_noise", grey, 5)[0]
    assert np.mean(salted == 0) == pytest.approx(0.035, rel=0.05)
    assert np.mean(salted == 255) == pytest.approx(0.035, rel=0.05)


def test_textures_fill_their_range_and_differ():
    rng = Generator(Philox(key=5))
    clouds, frosted = plasma(rng, 8, 20, 2.0), ice(rng, 8, 32)
    assert clouds.shape == (8, 32, 32)
    np.testing.assert_allclose([clouds.min((1, 2)), clouds.max((1, 2))], [[0] * 8, [1] * 8], atol=1e-12)
    assert frosted.shape == (8, 3, 32, 32)
    assert 0 <= float(frosted.min()) < 110
    assert 180 < float(frosted.max()) <= 255
    assert frosted.std((1, 2, 3)).min() > 15
    assert np.abs(np.asarray(np.corrcoef(clouds.reshape(8, -1)))[np.triu_indices(8, 1)]).mean() < 0.6
