"""The datasheet of a generated grid, under the headings of Gebru et al., Datasheets for Datasets (2021)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from starter.synis.prompts import PlannedImage


@dataclass(frozen=True)
class Origin:
    """Where a generated set comes from.

    Attributes:
        generator: the generator's name.
        encoder: the encoder's name, in whose features degrees were measured.
        identity: what the in-distribution images are, and how many.
        ranges: the lowest and highest degree on the semantic and on the covariate axis.
        licence: of the images, which follows from the generator's; "" where not stated.
        seed: of the draws.
    """

    generator: str
    encoder: str
    identity: str
    ranges: tuple[tuple[float, float], tuple[float, float]]
    licence: str
    seed: int


def datasheet(images: Sequence[PlannedImage], origin: Origin) -> str:
    """The datasheet as Markdown; figures are counted from the plan.

    Args:
        images: every image of the set.
        origin: where it comes from.
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
