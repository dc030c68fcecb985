"""Images per second of rendering a group of operations, against the same operations done image by image.

    python benchmarks/speed/render.py [--group default|a|b] [--images 2000] [--sets 20] [--rounds 5]

Both sides go from the same recipes (three operations a set, as `draw_recipes` draws them) and the same
random 32 x 32 images to the set, on one thread, and apply the same magnitudes. The reference uses Pillow's
and OpenCV's functions, or NumPy's where these have none, draws its own noise, and skips an image that an
operation leaves alone. Printed: medians over the rounds, in CPU seconds, which other load lengthens less than
wall-clock time, and the median of the rounds' ratios.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from scipy.interpolate import LinearNDInterpolator

from starter.images.imageset import ImageSet
from starter.operations import GROUPS, OPERATIONS
from starter.operations.default import inverse_affine
from starter.operations.operation import Magnitudes
from starter.sets.recipe import CHUNK, Recipe, draw_recipes
from submission.arrays import Pixels
from submission.random import MAGNITUDES

Row = dict[str, Any]
Step = Callable[[Any], Any]


def per_image_steps(name: str, drawn: Magnitudes, n: int, size: tuple[int, int]) -> list[Step]:
    """The operation as one function an image, n of them, with their magnitudes."""
    if name == "autocontrast":
        return [partial(_autocontrast, cutoff=int(cutoff)) for cutoff in drawn["cutoff"]]
    if name == "color":
        return [partial(_enhance_color, factor=float(factor)) for factor in drawn["factor"]]
    if name == "solarize":
        return _where(drawn["applied"], [partial(_solarize, threshold=int(t)) for t in drawn["threshold"]])
    if name == "affine":
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        steps = [
            partial(cv2.warpAffine, M=matrix, dsize=size, flags=flags)
            for matrix in inverse_affine(drawn, *size)
        ]
        return _where(drawn["applied"], steps)
    if name == "sharpen":
        kernels = map(_sharpen_kernel, drawn["alpha"], drawn["lightness"])
        return [partial(cv2.filter2D, ddepth=-1, kernel=kernel) for kernel in kernels]
    if name in REFERENCES:
        rng = np.random.default_rng(0)
        rows = [{key: values[i] for key, values in drawn.items()} for i in range(n)]
        return [partial(REFERENCES[name], row=row, rng=rng) for row in rows]
    centre = {"brightness": 0, "contrast": 127, "mild_contrast": 127}[name]
    return [partial(cv2.transform, m=_scaling(factors, centre)) for factors in drawn["factor"]]


def _autocontrast(image: Pixels, cutoff: int) -> Pixels:
    return np.asarray(ImageOps.autocontrast(Image.fromarray(image), cutoff))


def _solarize(image: Pixels, threshold: int) -> Pixels:
    return np.asarray(ImageOps.solarize(Image.fromarray(image), threshold))


def _enhance_color(image: Pixels, factor: float) -> Pixels:
    return np.asarray(ImageEnhance.Color(Image.fromarray(image)).enhance(factor))


def _where(applied: NDArray[np.bool_], steps: Sequence[Step]) -> list[Step]:
    return [step if chosen else (lambda image: image) for step, chosen in zip(steps, applied, strict=True)]


def _scaling(factors: NDArray[np.float32], centre: int) -> NDArray[np.float32]:
    return np.concatenate([np.diag(factors), centre * (1 - factors[:, None])], 1)


def _sharpen_kernel(alpha: float, lightness: float) -> NDArray[np.float32]:
    kernel = np.full((3, 3), -alpha, np.float32)
    kernel[1, 1] = 1 - alpha + alpha * (8 + lightness)
    return kernel


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


REFERENCES: dict[str, Step] = {
    function.__name__: function
    for function in (
        *(grayscale, elastic, piecewise_affine, invert, blur, exposure, haze, grain),
        *(rain, jpeg, soften, sharpness, hue, emboss, saturation),
    )
}


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def compare(recipe: Recipe, base: ImageSet) -> tuple[float, float]:
    """Seconds that the kit and the reference take to make the set."""

    def kit() -> None:
        for _ in recipe.chunks(base):
            pass

    def reference() -> None:
        indices = recipe.indices(base)
        steps = []
        for index, (name, params) in enumerate(recipe.ops[1:]):
            rng = MAGNITUDES(recipe.seed, index, name)
            drawn = OPERATIONS[name].draw(rng, len(indices), params)
            steps.append(per_image_steps(name, drawn, len(indices), base.images.shape[1:3]))
        for start in range(0, len(indices), CHUNK):
            images = []
            for row in range(start, min(start + CHUNK, len(indices))):
                image = base.images[indices[row]]
                for step in steps:
                    image = step[row](image)
                images.append(image)
            np.stack(images)

    return seconds(kit), seconds(reference)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--group", choices=("default", "a", "b"), default="default")
    parser.add_argument("--images", type=int, default=2000, help="images a set")
    parser.add_argument("--sets", type=int, default=20, help="sets a round")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    pixels = np.random.default_rng(0).integers(0, 256, (2 * args.images, 32, 32, 3), dtype=np.uint8)
    base = ImageSet("random", pixels)
    recipes = draw_recipes(args.group, args.sets, seed=0, n=args.images)
    report(f"three of group {args.group}", recipes, base, args.rounds)
    for name in GROUPS[args.group]:
        recipe = Recipe("alone", 0, (("sample", {"n": args.images}), (name, {})))
        report(f"  {name} alone", [recipe], base, args.rounds)


def report(title: str, recipes: list[Recipe], base: ImageSet, rounds: int) -> None:
    images = sum(recipe.size(base) for recipe in recipes)
    times = np.array([np.sum([compare(recipe, base) for recipe in recipes], axis=0) for _ in range(rounds)])
    kit, reference = images / np.median(times, axis=0)
    ratio = np.median(times[:, 1] / times[:, 0])
    print(f"{title:28} {kit:10,.0f} images/s, image by image {reference:8,.0f}: {ratio:5.1f}x", flush=True)


if __name__ == "__main__":
    main()
