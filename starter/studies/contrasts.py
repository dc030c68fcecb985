"""Single images: those that two detectors rank most differently, and IND images from nearer.

Source: ImageNet-OOD (Yang, Zhang & Russakovsky, ICLR 2024), figures 12 and 13, and figure 3, right. A rank is
the share of all OOD images that a detector scores as farther out (1: most IND); an image, a row of its kind.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from starter.data.images.figure import Drawn, new_panels
from starter.data.images.imageset import ImageSet
from starter.data.operations.filters import zoom
from starter.data.sets.rendering import Rendering
from starter.studies.failure import Detectors, Scored, ranks
from submission.arrays import FloatArray, IntArray

SHOWN = 8
"""Number of images of a kind by which two detectors are contrasted."""
ZOOM = 1.5
CLEAN, NEARER = "clean", "nearer"

Pictures = Mapping[str, Sequence[Rendering]]
"""The sets of each kind of images, one after the other."""


def nearer(images: ImageSet) -> ImageSet:
    """Returns the images with their middle magnified by `ZOOM`, without labels."""
    values = zoom(torch.from_numpy(images.images).permute(0, 3, 1, 2).float(), ZOOM) + 0.5
    return ImageSet(NEARER, values.to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy())


def _ranks(scored: Scored, kind: str) -> FloatArray:
    return ranks(scored.kinds[kind], np.concatenate([*scored.ood.values()]))


def contrast_table(detectors: Detectors) -> pd.DataFrame:
    """Returns the images of each kind that each other detector ranks lowest compared with the first."""
    rows = []
    (_, base), *others = detectors.items()
    for kind in base.kinds:
        first = _ranks(base, kind)
        for name, scored in others:
            own = _ranks(scored, kind)
            most = np.argsort(own - first, kind="stable")[:SHOWN].tolist()
            rows += [(name, kind, image, first[image], own[image]) for image in most]
    return pd.DataFrame(rows, columns=["detector", "kind", "image", "rank_by_first", "rank"])


def zoom_table(detectors: Detectors, rows: IntArray) -> pd.DataFrame:
    """Returns mean ranks of the clean images `rows` (m,) that are right there and as `NEARER` (m,).

    Also those of one image: it falls most, by the other detectors' ranks compared with the first's.
    """
    (_, right), (_, right_near) = (next(iter(detectors.values())).ind[kind] for kind in (CLEAN, NEARER))
    both = np.flatnonzero(right[rows] & right_near)
    if not len(both):
        return pd.DataFrame(columns=["detector"])
    before = np.array([_ranks(scored, CLEAN)[rows][both] for scored in detectors.values()])
    after = np.array([_ranks(scored, NEARER)[both] for scored in detectors.values()])
    falls = before - after
    most = int((falls - falls[0]).sum(axis=0).argmax())
    means = {"images": len(both), "rank": before.mean(1), "rank_near": after.mean(1)}
    one = {"image": both[most], "image_rank": before[:, most], "image_rank_near": after[:, most]}
    return pd.DataFrame({"detector": list(detectors), **means, **one})


def figures(
    contrasts: pd.DataFrame, zooms: pd.DataFrame, pictures: Pictures, rows: IntArray
) -> dict[str, Callable[[], Figure]]:
    """Returns a figure of each pair of a classifier and a detector, and one of each classifier's zoom."""
    found: dict[str, Callable[[], Figure]] = {}
    for (classifier, detector), table in contrasts.groupby(["classifier", "detector"]):
        columns = zip(table["kind"], table["image"], table["rank_by_first"], table["rank"], strict=True)
        shown = [(kind, row, f"{kind}: {first:.2f} to {own:.2f}") for kind, row, first, own in columns]
        found[f"contrasts_{classifier}_{detector}"] = partial(_gallery, pictures, shown)
    for name, table in zooms.groupby("classifier"):
        near = int(table["image"].iloc[0])
        before = "\n".join(f"{line.detector} {line.image_rank:.2f}" for line in table.itertuples())
        after = "\n".join(f"{line.detector} {line.image_rank_near:.2f}" for line in table.itertuples())
        pair = [(CLEAN, rows[near], before), (NEARER, near, after)]
        found[f"zoom_{name}"] = partial(_gallery, pictures, pair)
    return found


def _gallery(pictures: Pictures, shown: Sequence[tuple[str, int, str]]) -> Drawn:
    """Returns images, of a kind and a row each, below their captions."""
    figure, axes = new_panels(len(shown), SHOWN, width=1.2, height=1.5)
    for axis, (kind, row, caption) in zip(axes, shown, strict=False):
        ends = np.cumsum([len(each) for each in pictures[kind]])
        place = int(np.searchsorted(ends, row, side="right"))
        axis.imshow(pictures[kind][place].render()[row - int(ends[place])])
        axis.set_title(caption, fontsize=6)
        axis.set_axis_off()
    return figure
