"""Building Syn-IS: measure every prompt, divide them into the grid, draw, generate and write."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.encoders import Encoder
from starter.shift.degrees import ShiftGrid, shift_degrees
from starter.shift.laid import Laid
from starter.synis.datasheet import Origin, datasheet
from starter.synis.generators import ImageGenerator
from starter.synis.prompts import collect, plan
from starter.synis.styles import Style
from starter.synis.write import write_grid
from submission.errors import UnusableInput

Range = tuple[float, float]
_TEXTS = 4096


@dataclass(frozen=True, eq=False)
class Referee:
    """What degrees are measured with.

    Attributes:
        encoder: of the prompts and of the ID images.
        laid: the encoder's matrix.
        known: the ID images, uint8 (m, h, w, 3).
        identity: what these are, for the datasheet.

    Raises:
        UnusableInput: the matrix belongs to another encoder.
    """

    encoder: Encoder
    laid: Laid
    known: NDArray[np.uint8]
    identity: str

    def __post_init__(self) -> None:
        self.laid.require(self.encoder)

    def grid(self, texts: Sequence[str], ends: tuple[Range | None, Range | None], device: str) -> ShiftGrid:
        """The level of every prompt: the distance of its text features to the ID images', in either half.

        Args:
            texts: n prompts.
            ends: the range of the semantic and of the covariate axis; None for that of the prompts, from the
                1st to the 99th percentile.
            device: where distances are computed.
        """
        parts = [
            self.encoder.encode_texts(texts[start : start + _TEXTS])
            for start in tqdm(range(0, len(texts), _TEXTS), desc="prompts", unit="batch")
        ]
        reference = self.laid.decompose(self.encoder.encode_images(self.known))
        degrees = shift_degrees(self.laid.decompose(np.concatenate(parts)), reference, device=device)
        return ShiftGrid.of(*degrees, *ends)


def build_grid(
    out: Path,
    referee: Referee,
    prompts: tuple[Sequence[str], Sequence[Style]],
    generator: ImageGenerator,
    per_cell: int = 5000,
    ends: tuple[Range | None, Range | None] = (None, None),
    licence: str = "",
    seed: int = 0,
    batch: int = 8,
    device: str = "cpu",
) -> ShiftGrid:
    """Generate `per_cell` images for each cell that has a prompt (Long et al. 2024, section 2.3).

    Args:
        out: a new folder, or one of an interrupted run of the same arguments, which goes on.
        referee: what measures the prompts.
        prompts: labels and styles; every pair is a prompt.
        generator: what makes images.
        per_cell: 5,000 in the paper.
        ends: see `Referee.grid`.
        licence: of the images.
        seed: of the draws and of every image.
        batch: prompts a call of the generator.
        device: where distances are computed.

    Returns: the grid of the prompts.

    Raises:
        UnusableInput: there are no labels, or one stands there twice; the folder holds something else; a text
            cannot be encoded; the generator gives no images.
    """
    labels, styles = prompts
    if not labels or len(set(labels)) < len(labels):
        raise UnusableInput("--labels: give each label once, at least one")
    grid = referee.grid(collect(labels, styles), ends, device)
    images = plan(labels, styles, np.column_stack([grid.semantic, grid.covariate]), per_cell, seed)
    if not images:
        raise UnusableInput("no prompt lies in the ranges that were given: give wider ones, or none")
    ranges = _range(grid.semantic_edges), _range(grid.covariate_edges)
    identity = f"{len(referee.known):,} {referee.identity}"
    origin = Origin(generator.name, referee.encoder.name, identity, ranges, licence, seed)
    write_grid(out, images, generator, datasheet(images, origin), batch)
    return grid


def _range(edges: NDArray[np.float64]) -> Range:
    return float(edges[0]), float(edges[-1])
