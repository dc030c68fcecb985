"""Prompts of Syn-IS, label x style, and their draw for each cell (Long et al. 2024, section 2.3).

A style is a template that turns a label into a prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from submission.errors import unusable
from submission.files import read_rows
from submission.random import SYNIS

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
        negative: Description of what the image must not show, or "". It has no effect on SDXL-Turbo, which
            runs without guidance.
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
    """Returns styles from a CSV with the columns name, prompt (with ``{object}``) and, optionally, negative.

    Raises:
        UnusableInput: The file cannot be read, lacks a column, has no style or one twice, or a prompt has no
            ``{object}``.
    """
    styles: dict[str, Style] = {}
    for line, row in read_rows(path, ("name", "prompt")):
        if not row["name"] or OBJECT not in row["prompt"]:
            raise unusable(path, f"line {line}: needs a name, and a prompt with {OBJECT} in it")
        if row["name"] in styles:
            raise unusable(path, f"line {line}: the style {row['name']!r} is given above already")
        styles[row["name"]] = Style(row["name"], row["prompt"], row.get("negative", ""))
    if not styles:
        raise unusable(path, "holds no style: give it rows under name,prompt")
    return tuple(styles.values())


Levels = NDArray[np.integer]


@dataclass(frozen=True)
class Prompt:
    """The input from which one image is generated.

    Attributes:
        text: Description of the image.
        negative: Description of what the image must not show, or "".
        seed: Seed of the generator's noise, in [0, 2^53).
    """

    text: str
    negative: str
    seed: int


@dataclass(frozen=True)
class PlannedImage:
    """An image of the grid.

    Attributes:
        file: Path in the set, such as ``s1_c8/00000.png``: semantic level, covariate level (1 to 8), number.
        label: Class in the prompt.
        style: Name of the style.
        prompt: Prompt from which it is generated.
    """

    file: str
    label: str
    style: str
    prompt: Prompt


def collect(labels: Sequence[str], styles: Sequence[Style]) -> tuple[str, ...]:
    """Returns the text of every label in every style; prompt i has label number ``i // len(styles)``."""
    return tuple(style.prompt(label) for label in labels for style in styles)


def plan(
    labels: Sequence[str], styles: Sequence[Style], levels: Levels, per_cell: int, seed: int
) -> tuple[PlannedImage, ...]:
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
        `per_cell` images for each cell that has a prompt, cells in order.
    """
    images = []
    for semantic, covariate in sorted({(int(s), int(c)) for s, c in levels if min(s, c) >= 0}):
        members = np.flatnonzero((levels[:, 0] == semantic) & (levels[:, 1] == covariate))
        generator = SYNIS(seed, semantic, covariate)
        rounds = -(-per_cell // len(members))
        drawn = np.concatenate([generator.permutation(members) for _ in range(rounds)])[:per_cell]
        for number, (index, noise) in enumerate(
            zip(drawn, generator.integers(2**53, size=per_cell), strict=True)
        ):
            label, style = labels[index // len(styles)], styles[index % len(styles)]
            prompt = Prompt(style.prompt(label), style.negative, int(noise))
            file = f"s{semantic + 1}_c{covariate + 1}/{number:05}.png"
            images.append(PlannedImage(file, label, style.name, prompt))
    return tuple(images)
