"""The embedded glyphs with captions: a digit or another sign, its face, backdrop and look, an operation.

As the paper's referee has seen all kinds of images that it judges, these hold all embedded signs, faces,
backdrops and operations; the handwriting is that of the training part alone.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from tqdm import tqdm

from starter.encoders.captioned import ABSENT, Captioned, join
from starter.encoders.shifts import SHIFT_PHRASES, SHIFTS, shifted
from starter.glyphs import CLASSES, NATURAL, PARTS, Look, draw_glyphs
from starter.otherglyphs import PICTURES, SCRIPTS
from starter.recipes import generator
from starter.typefaces import handwriting, script, typeface

GROUP = 50
"""Images of one style."""
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
"""How many values of face, backdrop, look and operation the embedded data show most."""
CLEAR = (FACES.index("dejavu"), BACKDROPS.index("gradient"), list(LOOKS).index("clear"), 0)
"""What training begins with: from usual images it takes many times longer to tell any digits apart."""
VARIED = 0.5
"""The share of each covariate that is drawn from all values in varied images."""
KINDS = (0.75, 0.15, 0.1)
"""Shares of digits, of other signs and of pictures without any."""
PHRASES = (
    (*CLASSES, *(name.replace("_", " ") for name in (*SCRIPTS, *PICTURES))),
    tuple(f"{name.replace('-', ' ')} face" for name in FACES),
    tuple(f"on {name}" for name in BACKDROPS),
    tuple(f"{name} look" for name in LOOKS),
    SHIFT_PHRASES,
)


def captioned_glyphs(images: int, seed: int, progress: bool = True) -> Captioned:
    """That many images to the next 250: a fifth clear, two fifths as the embedded data, two fifths varied."""
    groups = range(5 * -(-images // (5 * GROUP)))
    bar = tqdm(groups, desc="draw glyphs", unit="group", disable=not progress)
    return join([_group(generator(seed, "captions", number), number % 5) for number in bar])


def _group(rng: Generator, kind: int) -> Captioned:
    """Images of one style; other signs have one face, pictures have neither face nor look."""
    share = VARIED if kind > 2 else 0
    style = list(CLEAR)
    if kind:
        sizes = (len(FACES), len(BACKDROPS), len(LOOKS), len(SHIFTS))
        style = [
            int(rng.integers(size if rng.random() < share else usual))
            for size, usual in zip(sizes, USUAL, strict=True)
        ]
    meanings, images = _DRAWN[rng.choice(len(KINDS), p=KINDS)](style, rng)
    values = np.column_stack([meanings, np.broadcast_to(style, (GROUP, len(style)))])
    return Captioned(shifted(images, style[3], rng), values, PHRASES, np.full(GROUP, kind == 0))


def _digits(style: list[int], rng: Generator) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    face, meanings = FACES[style[0]], rng.permutation(np.arange(GROUP) % len(CLASSES))
    drawn = handwriting(*PARTS["train"][1]) if face == "handwriting" else typeface(face)
    return meanings, draw_glyphs("digits", meanings, _look(style), [drawn], rng).images


def _signs(style: list[int], rng: Generator) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    which = int(rng.integers(len(SCRIPTS)))
    characters = list(SCRIPTS.values())[which]
    numbers = rng.integers(len(characters), size=GROUP)
    style[0] = FACES.index("dejavu")
    images = draw_glyphs("signs", numbers, _look(style), [script(characters)], rng).images
    return np.full(GROUP, len(CLASSES) + which), images


def _pictures(style: list[int], rng: Generator) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    which = int(rng.integers(len(PICTURES)))
    name = list(PICTURES)[which]
    images = np.rint(np.clip(PICTURES[name](GROUP, rng), 0, 1) * 255).astype(np.uint8)
    backdrop = name.split("_")[0]
    style[:3] = ABSENT, BACKDROPS.index(backdrop) if backdrop in BACKDROPS else ABSENT, ABSENT
    return np.full(GROUP, len(CLASSES) + len(SCRIPTS) + which), images


_DRAWN = (_digits, _signs, _pictures)


def _look(style: Sequence[int]) -> Look:
    return replace(list(LOOKS.values())[style[2]], backdrops=(BACKDROPS[style[1]],))
