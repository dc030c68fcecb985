"""Writing Syn-IS: a folder a cell, the prompts and a datasheet; an interrupted run goes on."""

import csv
import hashlib
import io
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.synis.generators import ImageGenerator, generated
from starter.synis.prompts import PlannedImage
from submission.files import claim_folder, replacing, write_text

PROMPTS = "prompts.csv"
DATASHEET = "DATASHEET.md"


def write_grid(
    out: Path, images: Sequence[PlannedImage], generator: ImageGenerator, datasheet: str, batch: int = 8
) -> Path:
    """Write every image as ``<cell>/<number>.png``, with ``prompts.csv`` and ``DATASHEET.md`` beside them.

    Batches are fixed by the plan: one of which an image is missing is generated whole, so that a run that was
    interrupted ends with the same bytes.

    Args:
        out: a new folder, or that of an interrupted run of the same plan and generator.
        images: what `plan` drew.
        generator: what makes them.
        datasheet: Markdown, as `datasheet.datasheet` writes it.
        batch: prompts a call.

    Returns: `out`.

    Raises:
        UnusableInput: the folder holds something else, or the generator's output is no images.
        OSError: no room.
    """
    table = _table(images)
    digest = hashlib.sha256(f"{batch}\n{generator.name}\n{table}".encode()).hexdigest()
    claim_folder(out, f"Syn-IS {digest}\n")
    write_text(out / PROMPTS, table)
    batches = [images[start : start + batch] for start in range(0, len(images), batch)]
    missing = [each for each in batches if not all((out / image.file).is_file() for image in each)]
    with tqdm(total=len(images), unit="image", desc="Syn-IS") as bar:
        bar.update(len(images) - sum(map(len, missing)))
        for each in missing:
            arrays = generated(generator, [image.prompt for image in each])
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
