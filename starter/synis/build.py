"""Building Syn-IS: measure the prompts, sort them into the grid, draw, generate and write.

Written are a folder of images for each cell, the prompts, and a datasheet under the headings of Gebru et al.,
Datasheets for Datasets (2021). An interrupted run can be continued.
"""

import csv
import hashlib
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.encoders import Encoder
from starter.shift.degrees import ShiftGrid, shift_degrees
from starter.shift.laid import Laid
from starter.synis.generators import ImageGenerator, generated
from starter.synis.prompts import PlannedImage, Style, collect, plan
from submission.errors import UnusableInput
from submission.files import check_folder, claim_folder, replacing, write_text


@dataclass(frozen=True)
class Origin:
    """The origin of a generated set.

    Attributes:
        generator: Name of the generator.
        encoder: Name of the encoder in whose features degrees were measured.
        identity: Description of the in-distribution images, with their number.
        ranges: Lowest and highest degree on the semantic and on the covariate axis.
        licence: Licence of the images, which follows from the generator's; "" if not stated.
        seed: Seed of the draws.
    """

    generator: str
    encoder: str
    identity: str
    ranges: tuple[tuple[float, float], tuple[float, float]]
    licence: str
    seed: int


def datasheet(images: Sequence[PlannedImage], origin: Origin) -> str:
    """Returns the datasheet as Markdown, with numbers counted from the plan (long, since it is one text).

    Args:
        images: All images of the set.
        origin: Origin of the set.
    """
    labels, styles = {image.label for image in images}, {image.style for image in images}
    cells = Counter(image.file.partition("/")[0] for image in images)
    return f"""# Datasheet

## Motivation
A grid of generated images whose distance from the in-distribution data grows step by step in meaning
(semantic shift) and in style (covariate shift), to see how OOD detectors and label-free estimators respond
(Long et al., NeurIPS 2024: Syn-IS). It was generated with Unseen.

## Composition
{len(images):,} images, generated whole: not a sample of a larger set, and of no real scene or person.
{len(labels):,} labels in {len(styles)} styles. A folder a cell, `s<semantic level>_c<covariate level>`,
levels 1 to 8; `prompts.csv` has the prompt and the seed of each image. A label says what was asked
for; nobody checked what is shown. Images of a cell (rows: semantic level; "-": no prompt falls there):

{_counts(cells)}

No split is recommended: each cell is one set. Nothing is confidential. Whether an image may offend depends on
the labels and styles that were given: nobody looked at the images.

## Collection
Each label was put into each style's prompt. A prompt's degree on an axis is the cosine distance of its text
features to the 10th nearest image of the in-distribution data in that half of the features.

- In-distribution data: {origin.identity}
- Encoder: {origin.encoder}
- Range of the semantic axis: {_range(origin.ranges[0])}; of the covariate axis: {_range(origin.ranges[1])}
- Generator: {origin.generator}
- Seed: {origin.seed}

The degree is that of the prompt, not of the image that came out: measure it again on the images.

## Preprocessing
None: images are stored as they were generated, as lossless PNG.

## Uses
Measuring OOD detectors and label-free estimators by shift. Not for training anything that is judged on it,
and not for statements about real photographs: generated images differ from these in more than style.

## Distribution
Licence: {origin.licence or "not stated; it follows from the generator's"}

## Maintenance
By whoever generated it. The same command gives the same files on the same machine.
"""


def _range(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.4f} to {ends[1]:.4f}"


def _counts(cells: Counter[str]) -> str:
    head = "| | " + " | ".join(f"c{covariate}" for covariate in range(1, 9)) + " |"
    rows = [
        f"| s{semantic} | "
        + " | ".join(
            f"{cells[f's{semantic}_c{c}']:,}" if cells[f"s{semantic}_c{c}"] else "-" for c in range(1, 9)
        )
        + " |"
        for semantic in range(1, 9)
    ]
    return "\n".join((head, "|---" * 9 + "|", *rows))


PROMPTS = "prompts.csv"
DATASHEET = "DATASHEET.md"


def write_grid(
    out: Path, images: Sequence[PlannedImage], generator: ImageGenerator, datasheet: str, batch: int = 8
) -> Path:
    """Write every image as ``<cell>/<number>.png``, with ``prompts.csv`` and ``DATASHEET.md`` beside them.

    Batches are fixed by the plan. A batch with a missing image is generated again as a whole, so that a run
    that was interrupted ends with the same bytes.

    Args:
        out: New folder, or the folder of an interrupted run of the same plan and generator.
        images: Images that `plan` drew.
        generator: Generator of the images.
        datasheet: Markdown, as `datasheet` returns it.
        batch: Number of prompts per call of the generator.

    Returns:
        `out`.

    Raises:
        UnusableInput: The folder holds something else, or the generator's output is not images.
        OSError: The disk is full.
    """
    table = _table(images)
    digest = hashlib.sha256(f"{batch}\n{generator.name}\n{table}".encode()).hexdigest()
    check_folder(out, f"Syn-IS {digest}\n")
    batches = [images[start : start + batch] for start in range(0, len(images), batch)]
    missing = [each for each in batches if not all((out / image.file).is_file() for image in each)]
    with tqdm(total=len(images), unit="image", desc="Syn-IS") as bar:
        bar.update(len(images) - sum(map(len, missing)))
        for number, each in enumerate(missing):
            arrays = generated(generator, [image.prompt for image in each])
            if not number:  # a generator that fails at once leaves nothing behind
                claim_folder(out, f"Syn-IS {digest}\n")
                write_text(out / PROMPTS, table)
            for image, array in zip(each, arrays, strict=True):
                _write_png(out / image.file, array)
            bar.update(len(each))
    write_text(out / DATASHEET, datasheet)
    return out


def _write_png(path: Path, image: NDArray[np.uint8]) -> None:
    encoded = cv2.imencode(".png", image[:, :, ::-1])[1]
    with replacing(path) as temporary:
        temporary.write_bytes(encoded.tobytes())


def _table(images: Sequence[PlannedImage]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("file", "label", "style", "prompt", "negative", "seed"))
    for image in images:
        prompt = image.prompt
        writer.writerow((image.file, image.label, image.style, prompt.text, prompt.negative, prompt.seed))
    return text.getvalue()


Range = tuple[float, float]
_TEXTS = 4096


@dataclass(frozen=True, eq=False)
class Measure:
    """The encoder, matrix and ID images with which degrees are measured.

    Attributes:
        encoder: Encoder of the prompts and of the ID images.
        laid: LAID matrix of the encoder.
        known: ID images, uint8 (m, h, w, 3).
        identity: Description of the ID images, for the datasheet.

    Raises:
        UnusableInput: The matrix belongs to another encoder.
    """

    encoder: Encoder
    laid: Laid
    known: NDArray[np.uint8]
    identity: str

    def __post_init__(self) -> None:
        self.laid.require(self.encoder)

    def grid(self, texts: Sequence[str], ends: tuple[Range | None, Range | None], device: str) -> ShiftGrid:
        """Returns the levels of all prompts, by the distances of their text features to the ID images'.

        Args:
            texts: The n prompts.
            ends: Ranges of the semantic and of the covariate axis; None for the range of the prompts, from
                their 1st to their 99th percentile.
            device: Device on which distances are computed.
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
    measure: Measure,
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
        out: New folder, or the folder of an interrupted run with the same arguments, which is continued.
        measure: Encoder, matrix and ID images that measure the prompts.
        prompts: Labels and styles; every pair is a prompt.
        generator: Generator of the images.
        per_cell: Number of images per cell, 5,000 in the paper.
        ends: As for `Measure.grid`.
        licence: Licence of the images.
        seed: Seed of the draws and of every image.
        batch: Number of prompts per call of the generator.
        device: Device on which distances are computed.

    Returns:
        The grid of the prompts.

    Raises:
        UnusableInput: There are no labels, or a label is given twice; a range is none; the folder holds
            something else; a text cannot be encoded; or the generator's output is not images.
    """
    labels, styles = prompts
    if not labels or len(set(labels)) < len(labels):
        raise UnusableInput("--labels: give each label once, at least one")
    for option, end in zip(("--semantic", "--covariate"), ends, strict=True):
        if end and not -math.inf < end[0] < end[1] < math.inf:
            raise UnusableInput(f"{option} {end[0]:g} {end[1]:g}: the first number must be below the second")
    grid = measure.grid(collect(labels, styles), ends, device)
    images = plan(labels, styles, np.column_stack([grid.semantic, grid.covariate]), per_cell, seed)
    if not images:
        raise UnusableInput("no prompt lies in the ranges that were given: give wider ones, or none")
    ranges = _rounded_range(grid.semantic_edges), _rounded_range(grid.covariate_edges)
    identity = f"{len(measure.known):,} {measure.identity}"
    origin = Origin(generator.name, measure.encoder.name, identity, ranges, licence, seed)
    write_grid(out, images, generator, datasheet(images, origin), batch)
    return grid


def _rounded_range(edges: NDArray[np.float64]) -> Range:
    return float(edges[0]), float(edges[-1])
