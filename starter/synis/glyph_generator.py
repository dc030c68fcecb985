"""A generator without a network: it draws the embedded signs as the captions of the small encoder tell."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator, Philox
from numpy.typing import NDArray

from starter.encoders.glyphs import FACES, PHRASES, drawn
from starter.encoders.shifts import shifted
from starter.synis.prompts import Prompt
from starter.synis.styles import OBJECT, Style
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
    images = drawn(np.array([MEANINGS.index(meaning)]), (face, backdrop, look), rng)
    return shifted(images, shift, rng)
