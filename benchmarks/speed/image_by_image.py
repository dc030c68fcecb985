"""Operations image by image, as people write them with NumPy, OpenCV, Pillow and SciPy, for `render.py`.

Each takes an image, uint8 (h, w, 3), its magnitudes and the operation's parameters by name, and a generator
of noise, and returns an image of the same kind. The corruptions follow the published scripts that made
CIFAR-10-C: values in [0, 1] in float64, one library call after another. Where those use Wand (motion blur) or
scikit-image (HSV, salt and pepper), OpenCV and NumPy stand in, which are faster; frost is drawn as the kit
draws it, since photographs of frost are not at hand. The module is long because it has all operations.
"""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from scipy.interpolate import LinearNDInterpolator
from scipy.ndimage import gaussian_filter, map_coordinates
from scipy.ndimage import zoom as scale_up

from starter.operations.natural import FILTERS
from submission.arrays import FloatArray, Pixels

Row = Mapping[str, Any]
ByImage = Callable[[Pixels, Row, np.random.Generator], Pixels]


def autocontrast(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return np.asarray(ImageOps.autocontrast(Image.fromarray(image), int(row["cutoff"])))


def solarize(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return (
        np.asarray(ImageOps.solarize(Image.fromarray(image), int(row["threshold"])))
        if row["applied"]
        else image
    )


def color(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return np.asarray(ImageEnhance.Color(Image.fromarray(image)).enhance(float(row["factor"])))


def brightness(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return _about(image, row["factor"], 0)


def contrast(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return _about(image, row["factor"], 127)


def mild_contrast(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return _about(image, row["factor"], 127)


def _about(image: Pixels, factors: NDArray[np.float32], centre: int) -> Pixels:
    return cv2.transform(image, np.concatenate([np.diag(factors), centre * (1 - factors[:, None])], 1))


def affine(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    if not row["applied"]:
        return image
    return cv2.warpAffine(
        image, row["inverse"], image.shape[1::-1], flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    )


def sharpen(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    kernel = np.full((3, 3), -row["alpha"], np.float32)
    kernel[1, 1] = 1 - row["alpha"] + row["alpha"] * (8 + row["lightness"])
    return cv2.filter2D(image, -1, kernel)


def grayscale(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    grey = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    return cv2.addWeighted(grey, row["alpha"], image, 1 - row["alpha"], 0)


def elastic(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    h, w = image.shape[:2]
    field = rng.random((h + 4, w + 4, 2), dtype=np.float32) * 2 - 1
    field = cv2.GaussianBlur(field, (5, 5), row["sigma"])[2:-2, 2:-2] * np.float32(row["reach"])
    y, x = np.mgrid[:h, :w].astype(np.float32)
    return cv2.remap(image, x - field[..., 0], y - field[..., 1], cv2.INTER_CUBIC)


def piecewise_affine(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    h, w = image.shape[:2]
    n, m = row["points"]
    y, x = np.meshgrid(np.linspace(0, h, n), np.linspace(0, w, m), indexing="ij")
    moved = np.stack([x + w * row["jitter"][1, :n, :m], y + h * row["jitter"][0, :n, :m]], -1)
    moved = moved.clip(0, [w - 1, h - 1]).reshape(-1, 2)
    places = LinearNDInterpolator(np.stack([y.ravel(), x.ravel()], 1), moved)(*np.mgrid[:h, :w])
    return cv2.remap(image, places.astype(np.float32), None, cv2.INTER_LINEAR)


def invert(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return image ^ (row["applied"] * np.uint8(255)) if row["applied"].any() else image


def blur(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return np.asarray(Image.fromarray(image).filter(ImageFilter.BLUR))


def exposure(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return np.asarray(ImageEnhance.Brightness(Image.fromarray(image)).enhance(row["factor"]))


def haze(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    h, w = image.shape[:2]
    y, x = np.fft.fftfreq(h, 1 / h), np.fft.fftfreq(w, 1 / w)
    frequency = np.hypot(y[:, None], x)
    frequency[0, 0] = np.inf
    textures = []
    for exponent in row["exponents"]:
        real, imaginary = rng.standard_normal((2, h, w))
        field = np.fft.ifft2((real + 1j * imaginary) * frequency**exponent).real
        textures.append((field - field.min()) / (field.max() - field.min()))
    share = ((row["floor"] + 0.3 * textures[0]) ** 0.9 * row["density"]).clip(0, 1)[..., None]
    light = (row["light"] * (0.8 + 0.4 * textures[1])).clip(0, 255)[..., None]
    return ((1 - share) * image + share * light).astype(np.uint8)


def grain(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    noise = rng.standard_normal((*image.shape[:2], 3 if row["coloured"] else 1), dtype=np.float32)
    return (image + np.rint(row["scale"] * noise)).clip(0, 255).astype(np.uint8)


def rain(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    h, w = image.shape[:2]
    small = int(0.985 * h), int(0.985 * w)
    for layer in range(row["layers"]):
        light = 127.5 + 127.5 * np.abs(np.cos(np.pi * rng.random(small)))
        drops = np.where(rng.random(small) < row["density"][layer], light, 0).astype(np.float32)
        gate = (1 - rng.random((8, 8)) ** (1 / row["patchiness"][layer])).astype(np.float32)
        drops *= cv2.resize(gate, small[::-1], interpolation=cv2.INTER_CUBIC)
        drops = cv2.resize(drops.clip(0, 255).astype(np.uint8), (w, h), interpolation=cv2.INTER_CUBIC)
        length = max(int(row["speed"][layer] * max(h, w)) // 2 * 2, 2)
        kernel = np.zeros((length + 1, length + 1), np.float32)
        kernel[:, length // 2] = np.linspace(1, 0, length + 1)
        turn = cv2.getRotationMatrix2D((length / 2, length / 2), row["degrees"][layer] - 90, 1)
        kernel = cv2.warpAffine(kernel, turn, kernel.shape)
        share = (cv2.filter2D(drops, cv2.CV_32F, kernel / kernel.sum()) * (1.3 / 255)).clip(0, 1)[..., None]
        image = ((1 - share) * image + share * 240).astype(np.uint8)
    return image


def jpeg(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=round(100 - 99 * int(row["compression"]) / 101))
    return np.asarray(Image.open(buffer))


def soften(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    size = int(max(3.3 * row["sigma"], 5)) // 2 * 2 + 1
    return cv2.GaussianBlur(image, (size, size), row["sigma"], borderType=cv2.BORDER_REFLECT_101)


def sharpness(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return np.asarray(ImageEnhance.Sharpness(Image.fromarray(image)).enhance(row["factor"]))


def hue(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    hsv[..., 0] = (hsv[..., 0] * row["factor"] % 180).astype(np.uint8)
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)


def emboss(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    alpha, r = row["alpha"], row["relief"]
    kernel = alpha * np.array([[-1 - r, -r, 0], [-r, 1, r], [0, r, 1 + r]])
    kernel[1, 1] += 1 - alpha
    return cv2.filter2D(image, -1, kernel)


def saturation(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    hsv[..., 1] = (hsv[..., 1] + row["offset"]).clip(0, 255)
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)


def gaussian_noise(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    x = image / 255
    return _pixels(x + rng.normal(size=x.shape, scale=_level(row, 0.04, 0.06, 0.08, 0.09, 0.10)))


def shot_noise(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    photons = _level(row, 500, 250, 100, 75, 50)
    return _pixels(rng.poisson(image / 255 * photons) / photons)


def impulse_noise(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    x = image / 255
    changed = rng.random(x.shape) < _level(row, 0.01, 0.02, 0.03, 0.05, 0.07)
    white = rng.random(x.shape) < 0.5
    x[changed & white] = 1
    x[changed & ~white] = 0
    return _pixels(x)


def speckle_noise(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    x = image / 255
    return _pixels(x + x * rng.normal(size=x.shape, scale=_level(row, 0.06, 0.1, 0.12, 0.16, 0.2)))


def gaussian_blur(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    sigma = _level(row, 0.4, 0.6, 0.7, 0.8, 1.0)
    return _pixels(gaussian_filter(image / 255, (sigma, sigma, 0), mode="nearest"))


def defocus_blur(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    radius, soft = _level(row, (0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))
    reach = np.arange(-8, 9)
    disk = (reach[:, None] ** 2 + reach**2 <= radius**2).astype(np.float32)
    kernel = cv2.GaussianBlur(disk / disk.sum(), (3, 3), soft)
    x = image / 255
    return _pixels(np.stack([cv2.filter2D(x[:, :, channel], -1, kernel) for channel in range(3)], 2))


def glass_blur(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    sigma, reach, rounds = _level(row, (0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))
    x = (gaussian_filter(image / 255, (sigma, sigma, 0), mode="nearest") * 255).astype(np.uint8)
    height, width = x.shape[:2]
    for _ in range(rounds):
        for h in range(height - reach, reach, -1):
            for w in range(width - reach, reach, -1):
                dx, dy = rng.integers(-reach, reach, size=2)
                x[h, w], x[h + dy, w + dx] = x[h + dy, w + dx], x[h, w]
    return _pixels(gaussian_filter(x / 255, (sigma, sigma, 0), mode="nearest"))


def motion_blur(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    radius, sigma = _level(row, (6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))
    return cv2.filter2D(image, -1, _line(radius, sigma, row["degrees"]), borderType=cv2.BORDER_REPLICATE)


def _line(radius: int, sigma: float, degrees: float) -> NDArray[np.float32]:
    """The kernel of a motion blur: half a Gaussian along a line that is turned."""
    kernel = np.zeros((4 * radius + 1, 4 * radius + 1), np.float32)
    kernel[2 * radius, 2 * radius :] = np.exp(-(np.arange(2 * radius + 1) ** 2) / (2 * sigma**2))
    turn = cv2.getRotationMatrix2D((2 * radius, 2 * radius), -degrees, 1)
    kernel = cv2.warpAffine(kernel, turn, kernel.shape)
    return kernel / kernel.sum()


def zoom_blur(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    factors = np.arange(1, _level(row, 1.06, 1.11, 1.16, 1.21, 1.26), 0.01)
    x = (image / 255).astype(np.float32)
    total = np.zeros_like(x)
    for factor in factors:
        total += _magnified(x, factor)
    return _pixels((x + total) / (len(factors) + 1))


def _magnified(x: FloatArray, factor: float) -> FloatArray:
    """The middle of an image, as large as the image."""
    n = x.shape[0]
    crop = int(np.ceil(n / factor))
    top = (n - crop) // 2
    middle = x[top : top + crop, top : top + crop]
    large = scale_up(middle, (factor, factor, *[1] * (x.ndim - 2)), order=1)
    trim = (large.shape[0] - n) // 2
    return large[trim : trim + n, trim : trim + n]


def snow(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    mean, scale, factor, floor, radius, sigma, share = _level(
        row,
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    )
    x = image.astype(np.float32) / 255
    layer = _magnified(rng.normal(size=x.shape[:2], loc=mean, scale=scale), factor)
    layer[layer < floor] = 0
    flakes = (np.clip(layer, 0, 1) * 255).astype(np.uint8)
    layer = (cv2.filter2D(flakes, -1, _line(radius, sigma, row["degrees"])) / 255)[:, :, None]
    grey = cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)[:, :, None]
    x = share * x + (1 - share) * np.maximum(x, grey * 1.5 + 0.5)
    return _pixels(x + layer + np.rot90(layer, k=2))


def frost(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    share, much = _level(row, (1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))
    h, w = image.shape[:2]
    side = max(h, w)
    veins = [1 - np.abs(2 * _clouds(side, 1.6, rng) - 1) for _ in range(2)]
    light = 0.35 + 0.25 * _clouds(side, 2.0, rng) + 0.4 * np.maximum(*veins) ** 6
    texture = 255 * light[:h, :w, None] * np.array([0.86, 0.95, 1.0])
    return np.clip(share * image + much * texture, 0, 255).astype(np.uint8)


def fog(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    amount, decay = _level(row, (0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))
    h, w = image.shape[:2]
    x = image / 255
    most = x.max()
    x += amount * _clouds(max(h, w), decay, rng)[:h, :w, None]
    return _pixels(x * most / (most + amount))


def _clouds(side: int, decay: float, rng: np.random.Generator) -> FloatArray:
    """A texture by the diamond-square algorithm, in [0, 1]."""
    size = 1 << (side - 1).bit_length()
    field = np.zeros((size, size))
    step, wobble = size, 100.0

    def wobbled(total: FloatArray) -> FloatArray:
        return total / 4 + wobble * rng.uniform(-wobble, wobble, total.shape)

    while step >= 2:
        half = step // 2
        corners = field[::step, ::step]
        square = corners + np.roll(corners, -1, 0)
        field[half::step, half::step] = wobbled(square + np.roll(square, -1, 1))
        centres = field[half::step, half::step]
        across = centres + np.roll(centres, 1, 0) + corners + np.roll(corners, -1, 1)
        field[::step, half::step] = wobbled(across)
        down = centres + np.roll(centres, 1, 1) + corners + np.roll(corners, -1, 0)
        field[half::step, ::step] = wobbled(down)
        step, wobble = half, wobble / decay
    field -= field.min()
    return field / field.max()


def spatter(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    mean, scale, sigma, floor, strength, mud = _level(
        row,
        (0.62, 0.1, 0.7, 0.7, 0.5, 0),
        (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1, 0.69, 0.5, 0),
        (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    )
    x = image.astype(np.float32) / 255
    liquid = gaussian_filter(rng.normal(size=x.shape[:2], loc=mean, scale=scale), sigma)
    liquid[liquid < floor] = 0
    if mud:
        mask = gaussian_filter((liquid > floor).astype(np.float32), strength)
        mask[mask < 0.8] = 0
        return _pixels(x * (1 - mask[:, :, None]) + mask[:, :, None] * (np.array([63, 42, 20]) / 255))
    layer = (np.clip(liquid, 0, 1) * 255).astype(np.uint8)
    distance = cv2.distanceTransform(255 - cv2.Canny(layer, 50, 150), cv2.DIST_L2, 5)
    distance = cv2.blur(np.minimum(distance, 20), (3, 3)).astype(np.uint8)
    relief = cv2.filter2D(
        cv2.equalizeHist(distance), cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
    )
    light = layer * cv2.blur(relief, (3, 3)).astype(np.float32)
    light = light / max(light.max(), 1) * strength
    return _pixels(x + light[:, :, None] * (np.array([175, 238, 238]) / 255))


def brighten(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    hsv = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2HSV)
    hsv[:, :, 2] = np.clip(hsv[:, :, 2] + _level(row, 0.05, 0.1, 0.15, 0.2, 0.3), 0, 1)
    return _pixels(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB))


def low_contrast(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    x = image / 255
    means = x.mean(axis=(0, 1), keepdims=True)
    return _pixels((x - means) * _level(row, 0.75, 0.5, 0.4, 0.3, 0.15) + means)


def saturate(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    factor, offset = _level(row, (0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))
    hsv = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2HSV)
    hsv[:, :, 1] = np.clip(hsv[:, :, 1] * factor + offset, 0, 1)
    return _pixels(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB))


def elastic_transform(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    strength, sigma, shake = _level(
        row, (0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)
    )
    h, w = image.shape[:2]
    side, reach = min(h, w), min(h, w) // 3
    corners = np.float32([w // 2, h // 2]) + reach * np.float32([[1, 1], [1, -1], [-1, -1]])
    moved = (corners + side * shake * row["corners"]).astype(np.float32)
    matrix = cv2.getAffineTransform(corners, moved)
    x = cv2.warpAffine(image / 255, matrix, (w, h), borderMode=cv2.BORDER_REFLECT_101)
    dx, dy = (
        gaussian_filter(rng.uniform(-1, 1, (h, w)), side * sigma, mode="reflect", truncate=3)
        * side
        * strength
        for _ in range(2)
    )
    rows, columns, channels = np.meshgrid(np.arange(h), np.arange(w), np.arange(3), indexing="ij")
    places = rows + dy[:, :, None], columns + dx[:, :, None], channels
    return _pixels(map_coordinates(x, places, order=1, mode="reflect"))


def pixelate(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    share = _level(row, 0.95, 0.9, 0.85, 0.75, 0.65)
    h, w = image.shape[:2]
    small = Image.fromarray(image).resize((int(w * share), int(h * share)), Image.Resampling.BOX)
    return np.asarray(small.resize((w, h), Image.Resampling.BOX))


def jpeg_compression(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    return _through_jpeg(image, _level(row, 80, 65, 58, 50, 40))


def reframe(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    size = np.array(image.shape[1::-1])
    centre = (size - 1) / 2
    matrix = np.column_stack(
        [np.diag(1 / row["scale"]), centre - (centre + row["shift"] * size) / row["scale"]]
    )
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(image, matrix, image.shape[1::-1], flags=flags, borderMode=cv2.BORDER_REFLECT)


def recolour(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    x = image.astype(np.float64)
    mean, spread = x.mean(axis=(0, 1)), x.std(axis=(0, 1))
    moved = (x - mean) * (row["deviation"] / np.maximum(spread, 1)) + row["mean"]
    return np.clip(x + row["share"] * (moved - x) + 0.5, 0, 255).astype(np.uint8)


def reencode(image: Pixels, row: Row, rng: np.random.Generator) -> Pixels:
    size = image.shape[1::-1]
    kept = tuple(max(round(n * row["scale"]), 1) for n in size)
    small = cv2.resize(image, kept, interpolation=FILTERS[row["there"]])
    small = _through_jpeg(small, round(100 - row["compression"]))
    return cv2.resize(small, size, interpolation=FILTERS[row["back"]])


def _through_jpeg(image: Pixels, quality: int) -> Pixels:
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer))


def _level(row: Row, *levels: Any) -> Any:
    """What belongs to the severity."""
    return levels[row["severity"] - 1]


def _pixels(x: FloatArray) -> Pixels:
    """Values in [0, 1] as bytes."""
    return (np.clip(x, 0, 1) * 255).astype(np.uint8)


BY_IMAGE: dict[str, ByImage] = {
    function.__name__: function
    for function in (
        *(autocontrast, brightness, color, solarize, contrast, affine, sharpen),
        *(grayscale, elastic, piecewise_affine, invert, blur, exposure, haze, grain),
        *(mild_contrast, rain, jpeg, soften, sharpness, hue, emboss, saturation),
        *(gaussian_noise, shot_noise, impulse_noise, speckle_noise, defocus_blur, glass_blur, motion_blur),
        *(zoom_blur, gaussian_blur, snow, frost, fog, brighten, low_contrast, elastic_transform, pixelate),
        *(jpeg_compression, spatter, saturate, reframe, recolour, reencode),
    )
}
