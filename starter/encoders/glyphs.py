"""The embedded glyphs with captions: a digit or another sign, its face, its backdrop, its look, an operation."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from tqdm import tqdm

from starter.encoders.captioned import ABSENT, Captioned, join
from starter.glyphs import CLASSES, NATURAL, PARTS, Look, draw_glyphs
from starter.imageset import ImageSet
from starter.operations import GROUPS, OPERATIONS
from starter.otherglyphs import PICTURES, SCRIPTS
from starter.recipes import Recipe, generator
from starter.typefaces import handwriting, script, typeface

DIGITS = tuple(f"the digit {name}" for name in CLASSES)
SIGNS = {name: f"{name.replace('_', ' ')} sign" for name in SCRIPTS}
# What a picture without characters means, and the backdrop that it is; crops of photographs mean nothing.
BACKDROPS = ("gradient", "china", "flower", "portrait", "terrain")
FACES = (
    "handwriting",
    "dejavu",
    *sorted(
        set(NATURAL) - {"handwriting"} - {"crowded", "faint", "inverted", "outline", "portrait", "terrain"}
    ),
)
LOOKS = {
    "plain": Look(),
    "inverted": Look(inverted=1.0),
    "outline": NATURAL["outline"],
    "crowded": NATURAL["crowded"],
    "faint": NATURAL["faint"],
}
PICTURED = {name: name.replace("_", " ") for name in PICTURES}
OPERATION_NAMES = ("identity", *GROUPS["default"], *GROUPS["corruptions"])

PHRASES = (
    (*DIGITS, *SIGNS.values(), *PICTURED.values()),
    tuple(f"{name.replace('-', ' ')} face" for name in FACES),
    tuple(f"on {name}" for name in BACKDROPS),
    tuple(f"{name} look" for name in LOOKS),
    tuple(
        "untouched" if name == "identity" else f"with {name.replace('_', ' ')}" for name in OPERATION_NAMES
    ),
)
GROUP = 50


def captioned_glyphs(images: int, seed: int, progress: bool = True) -> Captioned:
    parts = []
    for number in tqdm(range(images // GROUP), desc="glyphs", unit="group", disable=not progress):
        parts.append(_group(number, seed))
    return join(parts)


def _pick(rng: Generator, names, favourites: int, share: float) -> int:
    if rng.random() < share:
        return int(rng.integers(favourites))
    return int(rng.integers(len(names)))


def _group(number: int, seed: int) -> Captioned:
    rng = generator(seed, "captions", number)
    backdrop = _pick(rng, BACKDROPS, 3, 0.4)
    look = _pick(rng, LOOKS, 1, 0.5)
    operation = _pick(rng, OPERATION_NAMES, 1, 0.35)
    face = _pick(rng, FACES, 2, 0.5)
    kind = rng.random()
    values = np.empty((GROUP, 5), np.int64)
    style = replace(list(LOOKS.values())[look], backdrops=(BACKDROPS[backdrop],))
    if kind < 0.65:
        labels = rng.permutation(np.arange(GROUP) % 10)
        drawn = handwriting(*PARTS["train"][1]) if face == 0 else typeface(FACES[face])
        images = draw_glyphs("g", labels, style, [drawn], rng).images
        values[:] = np.stack(
            [labels, *np.broadcast_to([[face], [backdrop], [look], [operation]], (4, GROUP))], 1
        )
    elif kind < 0.9:
        which = int(rng.integers(len(SCRIPTS)))
        characters = list(SCRIPTS.values())[which]
        images = draw_glyphs(
            "g", rng.integers(len(characters), size=GROUP), style, [script(characters)], rng
        ).images
        values[:] = [10 + which, 1, backdrop, look, operation]
    else:
        which = int(rng.integers(len(PICTURES)))
        name = list(PICTURES)[which]
        images = np.rint(np.clip(PICTURES[name](GROUP, rng), 0, 1) * 255).astype(np.uint8)
        first = name.split("_")[0]
        values[:] = [
            10 + len(SCRIPTS) + which,
            ABSENT,
            BACKDROPS.index(first) if first in BACKDROPS else ABSENT,
            ABSENT,
            operation,
        ]
    name = OPERATION_NAMES[operation]
    if name != "identity":
        params = {
            key: int(rng.integers(2, 6)) if key == "severity" else p.low
            for key, p in OPERATIONS[name].parameters.items()
        }
        images = Recipe("g", int(rng.integers(2**31)), ((name, params),)).render(ImageSet("g", images)).images
    return Captioned(images, values, PHRASES)
