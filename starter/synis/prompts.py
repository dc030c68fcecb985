"""Prompts of Syn-IS, label x style, their draw for each cell, and the generators that turn them into images.

A style is a template that turns a label into a prompt (Long et al. 2024, section 2.3). The embedded signs
need no network: they are drawn as the captions of the small encoder describe them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from starter.classifiers.specs import user_function
from starter.encoders.captions import FACES, PHRASES, drawn, shifted
from submission.arrays import Pixels
from submission.errors import UnusableInput, unusable
from submission.files import read_rows, read_text
from submission.random import GENERATED, SYNIS

STYLE_NAMES = (
    "art nouveau", "constructivist", "expressionist", "graffiti", "hyperrealism", "impressionist",
    "pointillism", "pop art", "renaissance", "surrealist", "typography", "watercolor", "cybernetic",
    "cyberpunk game", "gta", "retro arcade", "retro game", "rpg fantasy game", "pixel art", "line art",
    "comic book", "3d-model", "dreamscape", "dystopian", "fairy tale", "gothic", "grunge", "kawaii",
    "lovecraftian", "macabre", "manga", "metropolis", "minimalist", "monochrome", "nautical", "space",
    "stained glass", "collage", "flat papercut", "paper mache", "paper quilling", "papercut collage",
    "papercut shadow box", "stacked papercut", "thick layered papercut", "film noir", "glamour", "hdr",
    "iphone photographic", "long exposure", "tilt-shift",
)  # fmt: skip
"""The 51 styles of Long et al. 2024, appendix D, by name; SDXL's templates for them may not be shipped."""
OBJECT = "{object}"


@dataclass(frozen=True)
class Style:
    """A template for prompts.

    Attributes:
        name: Name of the style.
        template: Prompt, in which ``{object}`` is replaced by the label.
        negative: Description of what the image must not show, or "".
    """

    name: str
    template: str
    negative: str = ""

    def prompt(self, label: str) -> str:
        """Returns the prompt for a label.

        >>> Style("pixel art", "{object}, pixel art style").prompt("cat")
        'cat, pixel art style'
        """
        return self.template.replace(OBJECT, label)


STYLES = tuple(Style(name, f"{OBJECT}, {name} style") for name in STYLE_NAMES)
"""Styles whose prompt is the label and the style's name, for every name."""


def read_styles(path: Path) -> tuple[Style, ...]:
    """Returns styles from a CSV: name, prompt (with ``{object}``) and, optionally, negative."""
    styles: dict[str, Style] = {}
    for line, row in read_rows(path, ("name", "prompt")):
        if not row["name"] or OBJECT not in row["prompt"]:
            raise unusable(path, f"line {line}: needs a name, and a prompt with {OBJECT} in it")
        styles[row["name"]] = Style(row["name"], row["prompt"], row.get("negative", ""))
    return tuple(styles.values())


@dataclass(frozen=True)
class Prompt:
    """The input from which one image of the grid is generated; the fields are the columns of ``prompts.csv``.

    Attributes:
        file: Path in the set, such as ``s1_c8/00000.png``: semantic level, covariate level (1 to 8), number.
        label: Class in the prompt.
        style: Name of the style.
        prompt: Description of the image.
        negative: Description of what the image must not show, or "".
        seed: Seed of the generator's noise, in [0, 2^53).
    """

    file: str
    label: str
    style: str
    prompt: str
    negative: str
    seed: int


def collect(labels: Sequence[str], styles: Sequence[Style]) -> tuple[str, ...]:
    """Returns the text of every label in every style; prompt i has label number ``i // len(styles)``."""
    return tuple(style.prompt(label) for label in labels for style in styles)


def plan(
    labels: Sequence[str], styles: Sequence[Style], levels: NDArray[np.integer], per_cell: int, seed: int
) -> tuple[Prompt, ...]:
    """Draw the prompts of each cell's images, without replacement.

    In a cell with fewer prompts than images, all prompts are drawn, then all again, and so on. A prompt that
    is drawn again gets another seed each time.

    Args:
        labels: Labels; a is their number.
        styles: Styles; b is their number.
        levels: Semantic and covariate level of each prompt of `collect`, (a * b, 2), from 0; below 0 for a
            prompt outside the grid, which is left out.
        per_cell: Number of images per cell.
        seed: Seed of the draws. A cell's images depend only on it and on the cell's prompts.

    Returns:
        `per_cell` prompts for each cell that has a prompt, cells in order.
    """
    found = []
    for semantic, covariate in sorted({(int(s), int(c)) for s, c in levels if min(s, c) >= 0}):
        members = np.flatnonzero((levels[:, 0] == semantic) & (levels[:, 1] == covariate))
        rng = SYNIS(seed, semantic, covariate)
        rounds = -(-per_cell // len(members))
        indices = np.concatenate([rng.permutation(members) for _ in range(rounds)])[:per_cell]
        for number, (index, noise) in enumerate(
            zip(indices, rng.integers(2**53, size=per_cell), strict=True)
        ):
            label, style = labels[index // len(styles)], styles[index % len(styles)]
            file = f"s{semantic + 1}_c{covariate + 1}/{number:05}.png"
            text = style.prompt(label)
            found.append(Prompt(file, label, style.name, text, style.negative, int(noise)))
    return tuple(found)


GLYPHS = "glyphs"
MEANINGS, *COVARIATES = PHRASES
USUAL = (FACES.index("dejavu"), 0, 0, 0)
"""The default face, backdrop, look and operation, for a prompt that does not name them."""
GLYPH_STYLES = tuple(Style(phrase, f"{OBJECT}, {phrase}") for phrases in COVARIATES for phrase in phrases)
"""A style for each covariate phrase."""


@dataclass(frozen=True)
class Generator:
    """A text-to-image model.

    Attributes:
        name: Name in the datasheet.
        function: Function from n prompts to their images, uint8 RGB (n, h, w, 3). The same prompts give the
            same images.
    """

    name: str
    function: Callable[[Sequence[Prompt]], object]

    def __call__(self, prompts: Sequence[Prompt]) -> Pixels:
        """Returns the images after a check of their shape and type."""
        try:
            images = self.function(prompts)
        except UnusableInput:
            raise
        except Exception as error:
            raise UnusableInput(f"{self.name} fails: {type(error).__name__}: {error}") from error
        if (
            not isinstance(images, np.ndarray)
            or images.dtype != np.uint8
            or images.ndim != 4
            or len(images) != len(prompts)
            or images.shape[3] != 3
        ):
            kind, shape = getattr(images, "dtype", type(images).__name__), getattr(images, "shape", ())
            raise UnusableInput(
                f"{self.name} must return uint8 images ({len(prompts)}, height, width, 3), got {kind} {shape}"
            )
        return images


def draw_glyphs(prompts: Sequence[Prompt]) -> NDArray[np.uint8]:
    """Returns images (n, 32, 32, 3) of prompts such as "greek, outline look, with fog".

    A prompt is a meaning followed by covariates; negative prompts have no effect.
    """
    return np.concatenate([_image(prompt) for prompt in prompts])


def _image(prompt: Prompt) -> NDArray[np.uint8]:
    meaning, *covariates = (phrase.strip() for phrase in prompt.prompt.split(","))
    if meaning not in MEANINGS:
        raise UnusableInput(
            f"the generator glyphs cannot draw {prompt.prompt!r}: a prompt begins with one of "
            f"{', '.join(MEANINGS)}, and a comma"
        )
    face, backdrop, look, shift = (
        next((phrases.index(each) for each in covariates if each in phrases), usual)
        for phrases, usual in zip(COVARIATES, USUAL, strict=True)
    )
    rng = GENERATED(prompt.seed)
    images = drawn(np.array([MEANINGS.index(meaning)]), (face, backdrop, look), rng)
    return shifted(images, shift, rng)


def choose_generator(spec: str) -> Generator:
    """Returns "glyphs", which draws the embedded signs, or the user's ``module:function``."""
    if spec == GLYPHS:
        return Generator("glyphs, 32 x 32 pixels", draw_glyphs)
    returns = "take prompts and return uint8 images (n, h, w, 3)"
    return Generator(spec, user_function(spec, "my_model:generate", returns))


def choose_prompts(
    spec: str, labels: Path | None, styles: Path | None, classes: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[Style, ...]]:
    """Returns the labels and styles of the files, or else those of the generator or the source.

    The generator "glyphs" has its own labels; others draw the source's classes in the paper's 51 styles.
    """
    objects = MEANINGS if spec == GLYPHS else classes
    if labels is not None:
        lines = (line.strip() for line in read_text(labels).splitlines())
        objects = tuple(dict.fromkeys(line for line in lines if line))
    if styles is not None:
        return objects, read_styles(styles)
    return objects, GLYPH_STYLES if spec == GLYPHS else STYLES
