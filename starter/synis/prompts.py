"""Which prompts fill which cell of the grid (Long et al. 2024, section 2.3): label x style, by level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from starter.synis.styles import Style

Levels = NDArray[np.integer]


@dataclass(frozen=True)
class Prompt:
    """What one image is generated from.

    Attributes:
        text: what it shows.
        negative: what it should not show, or "".
        seed: of the generator's noise, in [0, 2^53).
    """

    text: str
    negative: str
    seed: int


@dataclass(frozen=True)
class PlannedImage:
    """An image of the grid.

    Attributes:
        file: its place, as ``s1_c8/00000.png``: semantic level, covariate level (1 to 8), number.
        label: the class in the prompt.
        style: the style's name.
        prompt: what it is generated from.
    """

    file: str
    label: str
    style: str
    prompt: Prompt


def collect(labels: Sequence[str], styles: Sequence[Style]) -> tuple[str, ...]:
    """The text of every label in every style, label by label: prompt i is of label ``i // len(styles)``."""
    return tuple(style.prompt(label) for label in labels for style in styles)


def plan(
    labels: Sequence[str], styles: Sequence[Style], levels: Levels, per_cell: int, seed: int
) -> tuple[PlannedImage, ...]:
    """Draw the images of each cell: prompts without replacement, and again from the start where a cell has
    fewer prompts than images. A prompt drawn twice gets another seed each time.

    Args:
        labels: of length a.
        styles: of length b.
        levels: (a * b, 2) semantic and covariate level of each prompt of `collect`, from 0; below 0 where it
            lies outside the grid, and is left out.
        per_cell: images a cell.
        seed: of the draws. A cell's images depend on it and on the cell's prompts alone.

    Returns: cells in order, `per_cell` images in each cell that has a prompt.
    """
    images = []
    for semantic, covariate in sorted({(int(s), int(c)) for s, c in levels if min(s, c) >= 0}):
        members = np.flatnonzero((levels[:, 0] == semantic) & (levels[:, 1] == covariate))
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, semantic, covariate])))
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
