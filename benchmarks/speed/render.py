"""Images per second of rendering a group of operations, against the same operations done image by image.

    python benchmarks/speed/render.py [--group default|a|b|corruptions|natural-like] [--images 2000]
        [--sets 20] [--rounds 5] [--only NAME]

Both sides go from the same recipes (as `draw_recipes` draws them, and one for each operation alone, at
severity 3) and the same random 32 x 32 images to the set, on one thread, and apply the same magnitudes. The
other side is `image_by_image.py`, with noise of its own, which skips an image that an operation leaves alone.
Printed: medians over the rounds, in CPU seconds, which other load lengthens less than wall-clock time, and
the median of the rounds' ratios.
"""

import argparse
import time
from collections.abc import Callable

import cv2
import numpy as np
import torch
from image_by_image import BY_IMAGE, Row

from starter.images.imageset import ImageSet
from starter.operations import GROUPS, OPERATIONS
from starter.operations.default import inverse_affine
from starter.operations.operation import Params
from starter.sets.recipe import CHUNK, Recipe, draw_recipes
from submission.random import MAGNITUDES

MIDDLE = 3
"""The severity of a corruption alone."""


def compare(recipe: Recipe, base: ImageSet) -> tuple[float, float]:
    """Seconds that the kit and the reference take to make the set."""

    def kit() -> None:
        for _ in recipe.chunks(base):
            pass

    def reference() -> None:
        indices, rng = recipe.indices(base), np.random.default_rng(0)
        ops = recipe.pixel_ops
        steps = [(BY_IMAGE[name], rows(recipe, number, base)) for number, (name, _) in enumerate(ops)]
        for start in range(0, len(indices), CHUNK):
            images = []
            for row in range(start, min(start + CHUNK, len(indices))):
                image = base.images[indices[row]]
                for function, drawn in steps:
                    image = function(image, drawn[row], rng)
                images.append(image)
            np.stack(images)

    return seconds(kit), seconds(reference)


def rows(recipe: Recipe, number: int, base: ImageSet) -> list[Row]:
    """The magnitudes of an operation of the recipe and its parameters, image by image."""
    name, params = recipe.pixel_ops[number]
    n = recipe.size(base)
    drawn = dict(OPERATIONS[name].magnitudes(MAGNITUDES(recipe.seed, number, name), n, params))
    if name == "affine":
        drawn["inverse"] = inverse_affine(drawn, *base.images.shape[1:3])
    names, values = [*params, *drawn], [[value] * n for value in params.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, *drawn.values(), strict=True)] or [
        {}
    ] * n


def seconds(function: Callable[[], object]) -> float:
    """Of the processor."""
    start = time.process_time()
    function()
    return time.process_time() - start


def alone(name: str, n: int) -> Recipe:
    """A set of one operation."""
    params: Params = {"severity": MIDDLE} if "severity" in OPERATIONS[name].parameters else {}
    return Recipe("alone", 0, (("sample", {"n": n}), (name, params)))


def report(title: str, recipes: list[Recipe], base: ImageSet, rounds: int) -> None:
    """Measure and print a line."""
    images = sum(recipe.size(base) for recipe in recipes)
    times = np.array([np.sum([compare(recipe, base) for recipe in recipes], axis=0) for _ in range(rounds)])
    kit, reference = images / np.median(times, axis=0)
    ratio = np.median(times[:, 1] / times[:, 0])
    print(f"{title:28} {kit:10,.0f} images/s, image by image {reference:8,.0f}: {ratio:5.1f}x", flush=True)


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--group", choices=tuple(GROUPS), default="default")
    parser.add_argument("--images", type=int, default=2000, help="images a set")
    parser.add_argument("--sets", type=int, default=20, help="sets a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="one operation alone")
    args = parser.parse_args()
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    pixels = np.random.default_rng(0).integers(0, 256, (2 * args.images, 32, 32, 3), dtype=np.uint8)
    base = ImageSet("random", pixels)
    if not args.only:
        recipes = draw_recipes(args.group, args.sets, seed=0, n=args.images, prior_share=0)
        report(f"group {args.group}", recipes, base, args.rounds)
    for name in GROUPS[args.group]:
        if args.only in ("", name):
            report(f"  {name} alone", [alone(name, args.images)], base, args.rounds)


if __name__ == "__main__":
    main()
