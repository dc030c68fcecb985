"""Naive forms of the operations of groups default, a and b: what Pillow, torchvision, OpenCV, SciPy and imgaug do to
one image (h, w, 3) uint8, given its magnitudes and its share of the random draws; values on 0..255.
"""

import colorsys
import math
from collections.abc import Callable
from io import BytesIO
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from scipy import ndimage
from tape import Replay
from torchvision.transforms.v2 import functional

Floats = NDArray[np.floating[Any]]


def autocontrast(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    return np.asarray(ImageOps.autocontrast(Image.fromarray(image), cutoff=int(drawn["cutoff"])))


def brightness(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    return cv2.transform(image, np.diag(drawn["factor"]))


def color(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    return np.asarray(ImageEnhance.Color(Image.fromarray(image)).enhance(float(drawn["factor"])))


def solarize(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    solarized = functional.solarize(torch.from_numpy(image), float(drawn["threshold"])).numpy()
    return solarized if drawn["applied"] else image


def contrast(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    """OpenCV's weighting about 127."""
    factors = enumerate(drawn["factor"].astype(float))
    channels = [cv2.addWeighted(image[..., c], f, image[..., c], 0, 127 * (1 - f)) for c, f in factors]
    return np.stack(channels, -1)


def forward_affine(drawn: Any, height: int, width: int) -> Floats:
    """The 3 x 3 matrix as a product of its steps, for OpenCV's and SciPy's functions."""
    cx, cy = (width - 1) / 2, (height - 1) / 2
    angle = np.deg2rad(drawn["angle"])
    to_origin = np.array([[1, 0, -cx], [0, 1, -cy], [0, 0, 1]])
    scale = np.diag([*drawn["scale"], 1])
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    sx, sy = drawn["shift"]
    back = np.array([[1, 0, cx + sx * width], [0, 1, cy + sy * height], [0, 0, 1]])
    return back @ turn @ scale @ to_origin


def affine(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    """SciPy's bilinear interpolation, whose points are (y, x)."""
    if not drawn["applied"]:
        return image
    flip = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    inverse = flip @ np.linalg.inv(forward_affine(drawn, *image.shape[:2])) @ flip
    moved = [
        ndimage.affine_transform(image[..., c].astype(float), inverse, order=1, mode="grid-constant")
        for c in range(3)
    ]
    return np.stack(moved, -1)


def sharpen(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    alpha, lightness = drawn["alpha"], drawn["lightness"]
    kernel = np.full((3, 3), -alpha)
    kernel[1, 1] = 1 - alpha + alpha * (8 + lightness)
    return cv2.filter2D(image, -1, kernel, borderType=cv2.BORDER_REFLECT_101)


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


def mild_contrast(image: Floats, drawn: Any, tape: Replay) -> Floats:
    return 127 + drawn["factor"].astype(float) * (image - 127.0)


def jpeg(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    quality = round(1 + 99 * (1 - int(drawn["compression"]) / 101))
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer))


def soften(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    size = int(max(3.3 * drawn["sigma"], 5)) // 2 * 2 + 1
    return cv2.GaussianBlur(image, (size, size), drawn["sigma"], borderType=cv2.BORDER_REFLECT_101)


def sharpness(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    return np.asarray(ImageEnhance.Sharpness(Image.fromarray(image)).enhance(drawn["factor"]))


def in_hsv(image: Floats, change: Callable[[float, float, float], tuple[float, float, float]]) -> Floats:
    rows = [[colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*p))) for p in row] for row in image / 255]
    return np.array(rows) * 255


def hue(image: Floats, drawn: Any, tape: Replay) -> Floats:
    return in_hsv(image, lambda h, s, v: (h * drawn["factor"] % 1, s, v))


def emboss(image: NDArray[np.uint8], drawn: Any, tape: Replay) -> Floats:
    r, alpha = drawn["relief"], drawn["alpha"]
    effect = np.array([[-1 - r, -r, 0], [-r, 1, r], [0, r, 1 + r]])
    kernel = (1 - alpha) * np.diag([0, 1, 0]) + alpha * effect
    return cv2.filter2D(image, -1, kernel, borderType=cv2.BORDER_REFLECT_101)


def saturation(image: Floats, drawn: Any, tape: Replay) -> Floats:
    return in_hsv(image, lambda h, s, v: (h, min(max(s + drawn["offset"] / 255, 0), 1), v))


def rain_layer(image: Floats, drawn: Any, tape: list[Floats]) -> Floats:
    h, w = image.shape[:2]
    light, hit, gate = tape
    drops = np.where(hit < drawn["density"], 127.5 + 127.5 * np.abs(np.cos(np.pi * light)), 0)[0]
    gate = (1 - gate[0] ** (1 / drawn["patchiness"])).astype(np.float32)
    drops = drops * cv2.resize(gate, drops.shape[::-1], interpolation=cv2.INTER_CUBIC)
    drops = drops.clip(0, 255).astype(np.uint8).astype(np.float32)
    drops = cv2.resize(drops, (w, h), interpolation=cv2.INTER_CUBIC).clip(0, 255).astype(np.uint8)
    length = max(int(drawn["speed"] * max(h, w)) // 2 * 2, 2)
    y, x = np.mgrid[:h, :w].astype(float)
    total, angle = np.zeros((h, w)), np.deg2rad(drawn["degrees"])
    for step in range(length):
        places = [y + step * np.sin(angle), x + step * np.cos(angle)]
        total += (1 - step / length) * ndimage.map_coordinates(
            drops.astype(float), places, order=1, mode="mirror"
        )
    share = (1.3 * total / np.sum(1 - np.arange(length) / length) / 255).clip(0, 1)[..., None]
    return np.floor((1 - share) * image + share * 240)


NAIVE: dict[str, Callable[[Any, Any, Replay], Floats]] = {
    function.__name__: function
    for function in (
        *(autocontrast, brightness, color, solarize, contrast, affine, sharpen),
        *(grayscale, elastic, piecewise_affine, invert, blur, exposure, haze, grain),
        *(mild_contrast, jpeg, soften, sharpness, hue, emboss, saturation),
    )
}
"""All but rain, whose layers are compared one by one: `rain_layer`."""
