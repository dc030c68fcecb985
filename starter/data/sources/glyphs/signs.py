"""Embedded OOD sets: other characters on the backdrops of the digits, and images without a character.

Characters that look like a digit are left out. The family of a set is its name up to the underscore.
"""

import zlib
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import Generator

from starter.data.images.imageset import ImageSet
from starter.data.operations.filters import ice, plasma
from starter.data.sources.glyphs.digits import SIDE, Look, draw_backdrops, draw_glyphs
from starter.data.sources.glyphs.typefaces import script
from submission.arrays import FloatArray, Pixels
from submission.random import GLYPHS

SIZE = 400
"""Number of images of each set."""
PHOTOS = ("china", "flower", "portrait", "terrain")


def _span(first: int, last: int, but: str = "") -> str:
    """Returns the characters from code point `first` to `last`, without those in `but`."""
    return "".join(chr(code) for code in range(first, last + 1) if chr(code) not in but)


SCRIPTS = {
    "latin_upper": _span(0x41, 0x5A, but="OI"),
    "latin_lower": _span(0x61, 0x7A, but="ol"),
    "greek_upper": _span(0x391, 0x3A9, but="\u03a2\u039f\u0399"),
    "greek_lower": _span(0x3B1, 0x3C9, but="\u03bf\u03b9\u03c3"),
    "cyrillic_upper": _span(0x410, 0x42F, but="\u041e\u0417"),
    "cyrillic_lower": _span(0x430, 0x44F, but="\u043e\u0437\u0431"),
    "armenian": _span(0x561, 0x584) + _span(0x531, 0x554),
    "georgian": _span(0x10D0, 0x10F0),
    "hebrew": _span(0x5D0, 0x5EA, but="\u05d5\u05d9\u05df\u05e1"),
    "arabic": _span(0x628, 0x63A) + _span(0x641, 0x64A, but="\u0647"),
    "nko": _span(0x7CB, 0x7E7),
    "lao": _span(0xE94, 0xE97)
    + _span(0xE99, 0xE9F)
    + "\u0e81\u0e82\u0e84\u0e87\u0e88\u0e8a\u0e8d\u0eaa\u0eab",
    "tifinagh": _span(0x2D30, 0x2D65, but="\u2d30\u2d4f\u2d54\u2d59"),
    "italic_old": _span(0x10300, 0x1031E, but="\U00010309\U0001030f\U0001031a"),
    "braille": _span(0x2840, 0x28FF),
    "arrows": _span(0x2190, 0x21FF),
    "operators": _span(0x2200, 0x22FF, but="\u2205\u2218\u2219\u2223\u22c4\u22c5\u22c6"),
    "boxes": _span(0x250C, 0x254D),
    "shapes": _span(0x25A0, 0x25C9) + _span(0x25D0, 0x25E5),
    "dingbats": _span(0x2701, 0x2704) + _span(0x270C, 0x2727) + _span(0x2729, 0x274B),
    "chess": _span(0x2654, 0x265F),
    "zodiac": _span(0x2648, 0x2653),
    "hexagrams": _span(0x4DC0, 0x4DFF),
    "dominoes": _span(0x1F063, 0x1F093),
    "smileys": _span(0x1F600, 0x1F640, but="\U0001f624\U0001f62c"),
}
"""Characters of each set that shows some; letters that look like 0, 1, 3, 6 or 8 are left out."""


def _smooth(n: int, rng: Generator) -> FloatArray:
    """Returns clouds in two random colours, (n, 32, 32, 3)."""
    first, second = rng.random((2, n, 1, 1, 3))
    return first + (second - first) * plasma(rng, n, SIDE, 1.6)[..., None]


def _frost(n: int, rng: Generator) -> FloatArray:
    return ice(rng, n, SIDE).numpy().transpose(0, 2, 3, 1) / 255


def _waves(n: int, rng: Generator, sharp: bool) -> FloatArray:
    """Returns two random colours mixed by the product of two random waves; if sharp, black and white."""
    axis = np.arange(SIDE) - SIDE / 2
    angle, turn = rng.uniform(0, np.pi, (2, n, 1, 1))
    length, shift = rng.uniform(4, 14, (2, n, 1, 1)), rng.uniform(0, 2 * np.pi, (2, n, 1, 1))
    wave = np.ones((n, SIDE, SIDE))
    for direction, size, phase in zip((angle, turn + angle), length, shift, strict=True):
        along = axis * np.cos(direction) + axis[:, None] * np.sin(direction)
        wave = wave * np.sin(2 * np.pi * along / size + phase)
    wave = np.sign(wave) if sharp else wave
    first, second = rng.random((2, n, 1, 1, 3))
    return first + (second - first) * (wave[..., None] + 1) / 2


def _grain(n: int, rng: Generator) -> FloatArray:
    """Returns grey of random luminance with Gaussian noise in each channel."""
    mean, deviation = rng.uniform(0.3, 0.7, (n, 1, 1, 1)), rng.uniform(0.05, 0.3, (n, 1, 1, 1))
    return mean + deviation * rng.standard_normal((n, SIDE, SIDE, 3))


def _specks(n: int, rng: Generator) -> FloatArray:
    """Returns gradients with a share of their pixels black or white."""
    images, share = draw_backdrops(("gradient",), n, rng), rng.uniform(0.05, 0.4, (n, 1, 1))
    hit, white = rng.random((n, SIDE, SIDE)) < share, rng.random((n, SIDE, SIDE)) < 0.5
    return np.where(hit[..., None], white[..., None], images)


PICTURES: dict[str, Callable[[int, Generator], FloatArray]] = {
    **{f"{photo}_crops": partial(draw_backdrops, (photo,)) for photo in PHOTOS},
    "gradient_empty": partial(draw_backdrops, ("gradient",)),
    "cloud_plain": _smooth,
    "cloud_frost": _frost,
    "wave_soft": partial(_waves, sharp=False),
    "wave_sharp": partial(_waves, sharp=True),
    "noise_uniform": lambda n, rng: rng.random((n, SIDE, SIDE, 3)),
    "noise_grain": _grain,
    "noise_specks": _specks,
}
"""Functions that draw the sets without characters: images (n, 32, 32, 3), clipped to [0, 1] afterwards."""


def draw_signs(name: str, n: int, look: Look, rng: Generator) -> Pixels:
    """Returns images, uint8 (n, 32, 32, 3), of a set: characters of a look, or pictures."""
    if name in PICTURES:
        return np.rint(np.clip(PICTURES[name](n, rng), 0, 1) * 255).astype(np.uint8)
    characters = rng.integers(len(SCRIPTS[name]), size=n)
    return draw_glyphs(name, characters, look, [script(SCRIPTS[name])], rng).images


def other_glyphs(seed: int, size: int = SIZE) -> dict[str, ImageSet]:
    """Returns all embedded OOD sets by name, with `size` unlabelled images each, drawn by `seed`."""
    streams = {name: GLYPHS(seed, zlib.crc32(name.encode())) for name in (*SCRIPTS, *PICTURES)}
    return {name: ImageSet(name, draw_signs(name, size, Look(), rng)) for name, rng in streams.items()}
