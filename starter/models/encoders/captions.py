"""Captioned images, with phrases for meaning and style: the training data of the kit's encoders.

They include all embedded signs, faces, backdrops and operations, since the paper's encoder has also seen all
kinds of images that it measures; the handwriting is from the training part only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from starter.data.images.imageset import ImageSet
from starter.data.operations import GROUPS, OPERATIONS
from starter.data.sets.recipe import Recipe
from starter.data.sources.glyphs.digits import CLASSES, NATURAL, PARTS, Look, draw_glyphs
from starter.data.sources.glyphs.signs import PICTURES, SCRIPTS, draw_signs
from starter.data.sources.glyphs.typefaces import handwriting, typeface
from submission.arrays import IntArray, Pixels
from submission.errors import UnusableInput
from submission.progress import progress
from submission.random import CAPTIONS, PHOTOS

ABSENT = -1


@dataclass(frozen=True, eq=False)
class Captioned:
    """Images uint8 (n, h, w, 3) with one value of every attribute: first the meaning, then the covariates.

    `values` are indices into the phrases of each attribute, int64 (n, a); ABSENT for one that does not apply.
    `easy` are the images at the beginning of the training, bool (n,).
    """

    images: Pixels
    values: IntArray
    phrases: tuple[tuple[str, ...], ...]
    easy: NDArray[np.bool_]


def join(parts: Sequence[Captioned]) -> Captioned:
    """Returns the images of several parts with the same phrases."""
    images = np.concatenate([part.images for part in parts])
    values = np.concatenate([part.values for part in parts])
    easy = np.concatenate([part.easy for part in parts])
    return Captioned(images, values, parts[0].phrases, easy)


SHIFTS = ("identity", *GROUPS["default"], *GROUPS["corruptions"])
SHIFT_PHRASES = ("untouched", *(f"with {name.replace('_', ' ')}" for name in SHIFTS[1:]))


def shifted(images: Pixels, shift: int, rng: Generator) -> Pixels:
    """Returns images (n, h, w, 3) under one of SHIFTS; a severity is drawn from 2 to 5."""
    name = SHIFTS[shift]
    params = {"severity": int(rng.integers(2, 6))} if "severity" in OPERATIONS[name].parameters else {}
    recipe = Recipe(name, int(rng.integers(2**53)), ((name, params),))
    return recipe.render(ImageSet(name, images)).images


GROUP = 50
"""Number of images of one style."""
# Of each covariate, the usual values come first.
FACES = (
    "handwriting",
    "dejavu",
    "computer-modern",
    "computer-modern-sans",
    "dot-matrix",
    "opencv",
    "seven-segment",
    "stix",
    "stix-italic",
)
BACKDROPS = ("gradient", "china", "flower", "portrait", "terrain")
LOOKS = {
    "plain": Look(),
    "inverted": Look(inverted=1.0),
    "outline": NATURAL["outline"],
    "crowded": NATURAL["crowded"],
    "faint": NATURAL["faint"],
    "clear": Look(height=(13, 20), inverted=0.0, contrast=(0.35, 0.7)),
}
USUAL = (2, 3, 1, 1)
"""Numbers of common values of face, backdrop, look and operation in the embedded data."""
CLEAR = (FACES.index("dejavu"), BACKDROPS.index("gradient"), list(LOOKS).index("clear"), 0)
"""Style at the beginning of the training, which otherwise takes many times longer to separate any digits."""
VARIED = 0.5
"""Probability of each covariate in varied images to be drawn from all values."""
KINDS = (0.75, 0.15, 0.1)
"""Fractions of digits, of other signs, and of pictures without a sign."""
PHRASES = (
    (*CLASSES, *(name.replace("_", " ") for name in (*SCRIPTS, *PICTURES))),
    tuple(f"{name.replace('-', ' ')} face" for name in FACES),
    tuple(f"on {name}" for name in BACKDROPS),
    tuple(f"{name} look" for name in LOOKS),
    SHIFT_PHRASES,
)


def captioned_glyphs(images: int, seed: int) -> Captioned:
    """Returns `images` images, rounded up: 1/5 clear, 2/5 like the embedded data, 2/5 varied."""
    groups = range(5 * -(-images // (5 * GROUP)))
    bar = progress(groups, "draw glyphs", unit="groups")
    return join([_group(CAPTIONS(seed, number), number % 5) for number in bar])


def _group(rng: Generator, kind: int) -> Captioned:
    """Returns images of one style; other signs have one face, pictures have neither face nor look."""
    share = VARIED if kind > 2 else 0
    style = list(CLEAR)
    if kind:
        sizes = (len(FACES), len(BACKDROPS), len(LOOKS), len(SHIFTS))
        style = [
            int(rng.integers(size if rng.random() < share else usual))
            for size, usual in zip(sizes, USUAL, strict=True)
        ]
    meanings = _meanings(int(rng.choice(len(KINDS), p=KINDS)), rng)
    images = drawn(meanings, style, rng)
    values = np.column_stack([meanings, np.broadcast_to(_visible(meanings[0], style), (GROUP, len(style)))])
    return Captioned(shifted(images, style[3], rng), values, PHRASES, np.full(GROUP, kind == 0))


def _meanings(kind: int, rng: Generator) -> IntArray:
    """Returns the meanings of a group's images: all digits in turn, or one script or kind of picture."""
    if kind == 0:
        return rng.permutation(np.arange(GROUP) % len(CLASSES))
    if kind == 1:
        return np.full(GROUP, len(CLASSES) + rng.integers(len(SCRIPTS)))
    return np.full(GROUP, len(CLASSES) + len(SCRIPTS) + rng.integers(len(PICTURES)))


def drawn(meanings: IntArray, style: Sequence[int], rng: Generator) -> Pixels:
    """Draw uint8 images (n, 32, 32, 3) of meanings (n,) by the indices of face, backdrop and look."""
    n, other = len(meanings), int(meanings[0]) - len(CLASSES)
    look = replace(list(LOOKS.values())[style[2]], backdrops=(BACKDROPS[style[1]],))
    if other >= 0:
        return draw_signs([*SCRIPTS, *PICTURES][other], n, look, rng)
    face = FACES[style[0]]
    written = handwriting(*PARTS["train"][1]) if face == "handwriting" else typeface(face)
    return draw_glyphs("digits", meanings, look, [written], rng).images


def _visible(meaning: int, style: Sequence[int]) -> list[int]:
    """Returns the parts of the style that an image of this meaning has."""
    face, backdrop, look, shift = style
    other = meaning - len(CLASSES)
    if other < 0:
        return [face, backdrop, look, shift]
    if other < len(SCRIPTS):
        return [FACES.index("dejavu"), backdrop, look, shift]
    photo = list(PICTURES)[other - len(SCRIPTS)].split("_")[0]
    return [ABSENT, BACKDROPS.index(photo) if photo in BACKDROPS else ABSENT, ABSENT, shift]


PHOTOS_OF_A_STYLE = 100
"""Number of images under one operation."""


def captioned_photos(sets: Sequence[tuple[ImageSet, Sequence[str]]], seed: int) -> Captioned:
    """Returns each labelled image once, half of them unchanged; classes of one name are merged."""
    sizes = {images.images.shape[1:3] for images, _ in sets}
    if len(sizes) > 1:
        raise UnusableInput(f"images of one size are needed, got {sorted(sizes)}")
    named = [[name.replace("_", " ") for name in classes] for _, classes in sets]
    names = tuple(dict.fromkeys(name for classes in named for name in classes))
    pixels = np.concatenate([images.images for images, _ in sets])
    meanings = np.concatenate(
        [
            np.array([names.index(name) for name in classes])[images.labels]
            for classes, (images, _) in zip(named, sets, strict=True)
        ]
    )
    rng, parts = PHOTOS(seed), []
    groups = np.split(rng.permutation(len(pixels)), range(PHOTOS_OF_A_STYLE, len(pixels), PHOTOS_OF_A_STYLE))
    bar = progress(groups, "shift photos", unit="groups")
    for number, chosen in enumerate(bar):
        shift = int(rng.integers(1, len(SHIFTS))) if number % 2 else 0
        values = np.column_stack([meanings[chosen], np.full(len(chosen), shift)])
        easy = np.full(len(chosen), shift == 0)
        parts.append(Captioned(shifted(pixels[chosen], shift, rng), values, (names, SHIFT_PHRASES), easy))
    return join(parts)
