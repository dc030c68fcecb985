"""Building Syn-IS: measure the prompts, sort them into the grid, draw, generate and write.

Source: Long et al. 2024, section 2.3. Written are a folder of images for each cell, the prompts, and a
datasheet under the headings of Gebru et al., Datasheets for Datasets (2021).
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from tqdm import tqdm

from starter.encoders import Encoder
from starter.shift.grid import LEVELS, ShiftGrid, shift_degrees
from starter.shift.laid import Laid
from starter.shift.ruler import read_laid
from starter.sources.sources import load_source
from starter.synis.prompts import Generator, Prompt, choose_generator, choose_prompts, collect, plan
from submission.arrays import Pixels
from submission.files import check_folder, claim_folder, replacing, write_text

DATASHEET = """# Datasheet

## Motivation
A grid of generated images whose distance from the in-distribution data grows step by step in meaning
(semantic shift) and in style (covariate shift), to see how OOD detectors and label-free estimators respond
(Long et al., NeurIPS 2024: Syn-IS). It was generated with Unseen.

## Composition
{images:,} images, generated whole: not a sample of a larger set, and of no real scene or person.
{labels:,} labels in {styles} styles. A folder a cell, `s<semantic level>_c<covariate level>`,
levels 1 to 8; `prompts.csv` has the prompt and the seed of each image. A label says what was asked
for; nobody checked what is shown. Images of a cell (rows: semantic level; "-": no prompt falls there):

{counts}

No split is recommended: each cell is one set. Nothing is confidential. Whether an image may offend depends on
the labels and styles that were given: nobody looked at the images.

## Collection
Each label was put into each style's prompt. A prompt's degree on an axis is the cosine distance of its text
features to the 10th nearest image of the in-distribution data in that half of the features.

- In-distribution data: {identity}
- Encoder: {encoder}
- Range of the semantic axis: {semantic}; of the covariate axis: {covariate}
- Generator: {generator}
- Seed: {seed}

The degree is that of the prompt, not of the image that came out: measure it again on the images.

## Preprocessing
None: images are stored as they were generated, as lossless PNG.

## Uses
Measuring OOD detectors and label-free estimators by shift. Not for training anything that is judged on it,
and not for statements about real photographs: generated images differ from these in more than style.

## Distribution
Licence: {licence}

## Maintenance
By whoever generated it. The same command gives the same files on the same machine.
"""
_TEXTS = 4096  # number of prompts encoded at a time
BATCH = 8
"""Number of prompts per call of the generator."""


def synis(
    out: Path,
    laid: Path,
    generator: str = "glyphs",
    labels: Path | None = None,
    styles: Path | None = None,
    per_cell: int = 5000,
    encoder: str = "embedded",
    source: str = "glyphs",
    licence: str = "",
    seed: int = 0,
    data_root: Path | None = None,
    device: str = "cpu",
) -> ShiftGrid:
    """Generate `per_cell` images for each cell that has a prompt, and return the grid of the prompts.

    Arguments are those of `unseen shift generate`; an interrupted run is continued.
    """
    model, (eyes, matrix) = choose_generator(generator), read_laid(laid, encoder, device)
    splits = load_source(source, data_root, seed)
    known = splits.train.images
    objects, templates = choose_prompts(generator, labels, styles, splits.classes)
    grid = prompt_grid(eyes, matrix, known, collect(objects, templates), device)
    prompts = plan(objects, templates, np.column_stack([grid.semantic, grid.covariate]), per_cell, seed)
    sheet = datasheet(
        prompts,
        grid,
        identity=f"{len(known):,} training images of {Path(source).name}",
        encoder=eyes.name,
        generator=model.name,
        seed=seed,
        licence=licence or "not stated; it follows from the generator's",
    )
    write_grid(out, prompts, model, sheet)
    return grid


def prompt_grid(
    encoder: Encoder,
    laid: Laid,
    known: Pixels,
    texts: Sequence[str],
    device: str = "cpu",
) -> ShiftGrid:
    """Returns the levels of prompts, by the distances of their text features to those of the ID images."""
    parts = [
        encoder.encode_texts(texts[start : start + _TEXTS])
        for start in tqdm(range(0, len(texts), _TEXTS), desc="prompts", unit="batch")
    ]
    reference = laid.decompose(encoder.encode_images(known))
    degrees = shift_degrees(laid.decompose(np.concatenate(parts)), reference, device=device)
    return ShiftGrid.of(*degrees)


def datasheet(prompts: Sequence[Prompt], grid: ShiftGrid, **facts: str | int) -> str:
    """Returns the datasheet as Markdown, with numbers counted from the plan."""
    cells = Counter(prompt.file.partition("/")[0] for prompt in prompts)
    levels = range(1, LEVELS + 1)
    rows = [
        [f"s{s}", *(f"{cells[f's{s}_c{c}']:,}" if cells[f"s{s}_c{c}"] else "-" for c in levels)]
        for s in levels
    ]
    table = [["", *(f"c{c}" for c in levels)], *rows]
    head, *lines = (f"| {' | '.join(row)} |".replace("|  |", "| |") for row in table)
    return DATASHEET.format(
        images=len(prompts),
        labels=len({prompt.label for prompt in prompts}),
        styles=len({prompt.style for prompt in prompts}),
        counts="\n".join([head, "|---" * (LEVELS + 1) + "|", *lines]),
        semantic=f"{grid.semantic_edges[0]:.4f} to {grid.semantic_edges[-1]:.4f}",
        covariate=f"{grid.covariate_edges[0]:.4f} to {grid.covariate_edges[-1]:.4f}",
        **facts,
    )


def write_grid(
    out: Path, prompts: Sequence[Prompt], generator: Generator, sheet: str, batch: int = BATCH
) -> None:
    """Write every image as ``<cell>/<number>.png``, with ``prompts.csv`` and ``DATASHEET.md`` beside them.

    Batches are fixed by the plan. A batch with a missing image is generated again as a whole, so that a run
    that was interrupted ends with the same bytes.

    Args:
        out: New folder, or the folder of an interrupted run of the same plan and generator.
        prompts: Prompts that `plan` drew.
        generator: Generator of the images.
        sheet: Text of the datasheet.
        batch: Number of prompts per call of the generator.
    """
    table = pd.DataFrame(prompts).to_csv(index=False, lineterminator="\n")
    digest = hashlib.sha256(f"{batch}\n{generator.name}\n{table}".encode()).hexdigest()
    check_folder(out, f"Syn-IS {digest}\n")
    batches = [prompts[start : start + batch] for start in range(0, len(prompts), batch)]
    missing = [each for each in batches if not all((out / prompt.file).is_file() for prompt in each)]
    with tqdm(total=len(prompts), unit="image", desc="Syn-IS") as bar:
        bar.update(len(prompts) - sum(map(len, missing)))
        for number, each in enumerate(missing):
            images = generator(each)
            if not number:  # a generator that fails at once leaves nothing behind
                claim_folder(out, f"Syn-IS {digest}\n")
                write_text(out / "prompts.csv", table)
            for prompt, image in zip(each, images, strict=True):
                with replacing(out / prompt.file) as temporary:
                    temporary.write_bytes(cv2.imencode(".png", image[:, :, ::-1])[1].tobytes())
            bar.update(len(each))
    write_text(out / "DATASHEET.md", sheet)
