"""A generator without a network: it draws the embedded signs as the captions of the small encoder tell."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator, Philox
from numpy.typing import NDArray

from starter.encoders.glyphs import BACKDROPS, FACES, LOOKS, PHRASES
from starter.encoders.shifts import shifted
from starter.glyphs import CLASSES, PARTS, draw_glyphs
from starter.otherglyphs import PICTURES, SCRIPTS
from starter.synis.prompts import Prompt
from starter.synis.styles import OBJECT, Style
from starter.typefaces import Typeface, handwriting, script, typeface
from submission.errors import UnusableInput

MEANINGS, *COVARIATES = PHRASES
USUAL = (FACES.index("dejavu"), 0, 0, 0)
"""The face, backdrop, look and operation of a prompt that does not tell."""
GLYPH_STYLES = tuple(Style(phrase, f"{OBJECT}, {phrase}") for phrases in COVARIATES for phrase in phrases)
"""A style a covariate phrase."""


class GlyphGenerator:
    """Draws prompts such as "greek, outline look, with fog": a meaning, then covariates, 32 x 32 pixels."""

    name = "glyphs, 32 x 32 pixels"

    def generate(self, prompts: Sequence[Prompt]) -> NDArray[np.uint8]:
        """An image a prompt, (n, 32, 32, 3) uint8; negative prompts do not count.

        Raises:
            UnusableInput: a prompt does not begin with a meaning of the captions.
        """
        return np.concatenate([_image(prompt) for prompt in prompts])


def _image(prompt: Prompt) -> NDArray[np.uint8]:
    meaning, *told = (phrase.strip() for phrase in prompt.text.split(","))
    if meaning not in MEANINGS:
        raise UnusableInput(
            f"the generator glyphs cannot draw {prompt.text!r}: a prompt begins with one of "
            f"{', '.join(MEANINGS)}, and a comma"
        )
    face, backdrop, look, shift = (
        next((phrases.index(each) for each in told if each in phrases), usual)
        for phrases, usual in zip(COVARIATES, USUAL, strict=True)
    )
    rng = Generator(Philox(prompt.seed))
    index = MEANINGS.index(meaning) - len(CLASSES) - len(SCRIPTS)
    if index >= 0:
        pictures = list(PICTURES.values())[index](1, rng)
        return shifted(np.rint(np.clip(pictures, 0, 1) * 255).astype(np.uint8), shift, rng)
    source, labels = _sign(MEANINGS.index(meaning), FACES[face], rng)
    style = replace(list(LOOKS.values())[look], backdrops=(BACKDROPS[backdrop],))
    return shifted(draw_glyphs("sign", labels, style, [source], rng).images, shift, rng)


def _sign(meaning: int, face: str, rng: Generator) -> tuple[Typeface, NDArray[np.int64]]:
    """What a digit or a character of a script is drawn from, and its number there."""
    if meaning >= len(CLASSES):
        characters = list(SCRIPTS.values())[meaning - len(CLASSES)]
        return script(characters), rng.integers(len(characters), size=1)
    written = handwriting(*PARTS["train"][1]) if face == "handwriting" else typeface(face)
    return written, np.array([meaning])
