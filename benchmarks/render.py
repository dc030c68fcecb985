"""Images per second of rendering the default group, against the same operations done image by image.

    python benchmarks/render.py [--images 2000] [--sets 20] [--rounds 5]

Both sides go from the same recipes (three operations a set, as `draw_recipes` draws them) and the same
random 32 x 32 images to the set, on one thread, and apply the same magnitudes. The reference uses Pillow's
autocontrast, colour and solarize and OpenCV's transform, warpAffine and filter2D, and skips an image that an
operation leaves alone. Printed: medians over the rounds, in CPU seconds, which other load lengthens less than
wall-clock time.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageOps

from starter.imageset import ImageSet
from starter.recipes import CHUNK, GROUPS, OPERATIONS, Recipe, draw_recipes, generator
from starter.transforms import Magnitudes, inverse_affine

Pixels = NDArray[np.uint8]


Step = Callable[[Any], Any]


def per_image_steps(name: str, drawn: Magnitudes, size: tuple[int, int]) -> list[Step]:
    """The operation as one function an image, with its magnitudes."""
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
    centre = {"brightness": 0, "contrast": 127}[name]
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
            rng = generator(recipe.seed, index, name, "magnitudes")
            drawn = OPERATIONS[name].draw(rng, len(indices), params)
            steps.append(per_image_steps(name, drawn, base.images.shape[1:3]))
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=2000, help="images a set")
    parser.add_argument("--sets", type=int, default=20, help="sets a round")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    pixels = np.random.default_rng(0).integers(0, 256, (2 * args.images, 32, 32, 3), dtype=np.uint8)
    base = ImageSet("random", pixels)
    recipes = draw_recipes("default", args.sets, seed=0, n=args.images)
    report("three of the default group", recipes, base, args.rounds)
    for name in GROUPS["default"]:
        recipe = Recipe("alone", 0, (("sample", {"n": args.images}), (name, {})))
        report(f"  {name} alone", [recipe], base, args.rounds)


def report(title: str, recipes: list[Recipe], base: ImageSet, rounds: int) -> None:
    images = sum(recipe.size(base) for recipe in recipes)
    times = [np.sum([compare(recipe, base) for recipe in recipes], axis=0) for _ in range(rounds)]
    kit, reference = (images / statistics.median(column) for column in zip(*times, strict=True))
    print(f"{title:28} {kit:10,.0f} images/s, image by image {reference:8,.0f}: {kit / reference:5.1f}x")


if __name__ == "__main__":
    main()
