"""Shift degrees of sets as a table: set, row, semantic, covariate. No label is used."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from starter.competition.subjects import SETS
from starter.encoders import Encoder
from starter.images.reading import Fit
from starter.shift.degrees import NEIGHBOUR, shift_degrees
from starter.shift.laid import Laid
from starter.sources.oodsets import load_ood_sets
from starter.sources.sources import load_source
from submission import Competition
from submission.arrays import Pixels
from submission.random import SANITY


def degree_table(
    encoder: Encoder,
    laid: Laid,
    known: Pixels,
    sets: Iterable[tuple[str, Pixels]],
    k: int = NEIGHBOUR,
    device: str = "cpu",
) -> pd.DataFrame:
    """Returns a row for each image; columns: `set`, `row` (from 0), `semantic`, `covariate` (float32).

    Args:
        encoder: Encoder of the images.
        laid: LAID matrix of the encoder.
        known: ID images from which distances are measured, uint8 (m, h, w, 3).
        sets: Name and images of each set.
        k: Rank of the ID image, from the nearest, whose distance is the degree.
        device: Device on which distances are computed.

    Raises:
        UnusableInput: The matrix belongs to another encoder, or there are fewer than k ID images.
    """
    laid.require(encoder)
    reference, tables = laid.decompose(encoder.encode_images(known)), []
    for name, images in sets:
        seen = laid.decompose(encoder.encode_images(images))
        semantic, covariate = shift_degrees(seen, reference, k, device=device)
        columns = {"set": name, "row": range(len(images)), "semantic": semantic, "covariate": covariate}
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def measured_sets(
    path: Path, source: str, data_root: Path | None, seed: int, images: int
) -> tuple[Pixels, Iterator[tuple[str, Pixels]]]:
    """Returns the ID images, and the name and images of each set to measure.

    Args:
        path: Competition, whose unlabelled training images are the ID images and whose validation and test
            sets are measured; or a folder or zip with one folder of images per set.
        source: Source whose training images are the ID images, if `path` is a folder.
        data_root: Folder of a named source.
        seed: Seed of the draws.
        images: Largest number of images from each folder.

    Raises:
        UnusableInput: The path, the source or an image cannot be read.
    """
    if (path / "public").is_dir():
        competition = Competition.open(path)
        sets = SETS[competition.track](competition)
        stored = (each for part in ("val", "test") for each in sets.stored(part))
        return sets.train_ref.images, ((each.name, each.render()) for each in stored)
    splits = load_source(source, data_root, seed)
    found = load_ood_sets(str(path), (), Fit(splits.image_size), (), images, seed, SANITY)
    return splits.train.images, ((name, each.images) for name, each in found.items())
