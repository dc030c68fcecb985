"""Pictures of a competition: a contact sheet of sets, and histograms of their targets."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import cv2
import numpy as np

from starter.contest.tracks import sets_of
from starter.data.images.figure import new_figure, save_png
from starter.data.sets.rendering import Rendering
from starter.observing.sets import PublicSets
from submission import Competition, UnusableInput, make_id
from submission.arrays import FloatArray, Pixels
from submission.files import write_bytes
from submission.scoretable import validation_groups
from submission.scoring import read_targets

COLUMNS = 16
"""Number of images shown of each set."""
SHOWN_SETS = {"train": 6, "val": 4, "test": 4}
_CELL = 64
_CAPTION = 22
_MARGIN = 8
TITLES = {"train": "meta-train", "val": "validation"}
BINS = np.arange(0, 102.5, 2.5)
"""Edges of the histogram's bars, in percent."""


def show(competition: Competition, sets: Sequence[str] = (), *, out: Path | None = None) -> str:
    """Write a contact sheet of the sets, () for the first ones, and a histogram; returns what they show."""
    sheet = contact_sheet(competition, sets, out or competition.out / "sheet.png")
    histogram = plot_accuracies(competition, sheet.with_name("accuracies.png"))
    return f"{sheet}\n{histogram}\n{summary(competition)}"


def contact_sheet(
    competition: Competition, names: Sequence[str], out: Path, notes: Mapping[str, str] = MappingProxyType({})
) -> Path:
    """Write a PNG with a row of images per set, the first 16 of each, below a caption and the set's note."""
    competition.check_output(out, ".png")
    sets = sets_of(competition)
    first = [name for part, count in SHOWN_SETS.items() for name in competition.sets(part)[:count]]
    rows = [_row(sets, name, notes.get(name, "")) for name in list(names) or first]
    write_bytes(out, encode(".png", np.concatenate(rows)))
    return out


def pictures(competition: Competition, part: str, count: int) -> Iterator[bytes]:
    """Yield a JPEG for each set of "val" or "test": its first `count` images, none larger than `_CELL`."""
    for rendering in sets_of(competition).stored(part):
        yield encode(".jpg", _strip(rendering, count, min(_CELL, *competition.image_size), 0))


def encode(suffix: str, image: Pixels) -> bytes:
    """Returns an RGB image (h, w, 3) as a PNG or JPEG file."""
    return cv2.imencode(suffix, cv2.cvtColor(image, cv2.COLOR_RGB2BGR))[1].tobytes()


def _row(sets: PublicSets, name: str, note: str) -> Pixels:
    """Returns the images of a set below its name, with operations and accuracies if they are public."""
    competition = sets.competition
    part = next((part for part, names in competition.sizes.items() if name in names), None)
    if part is None:
        known = filter(None, map(competition.sets, competition.sizes))
        shown = ", ".join(f"{names[0]} ... {names[-1]}" for names in known)
        raise UnusableInput(f"there is no set {name!r}; the competition has {shown}")
    strip = _strip(sets.find(part, name), COLUMNS, _CELL, _MARGIN)
    above = np.full((_CAPTION, strip.shape[1], 3), 255, np.uint8)
    text = caption(sets, part, name) + note
    font = cv2.FONT_HERSHEY_SIMPLEX
    ink = (30, 30, 30)
    cv2.putText(above, text, (_MARGIN, 16), font, 0.45, color=ink, thickness=1, lineType=cv2.LINE_AA)
    below = np.full((_MARGIN, strip.shape[1], 3), 255, np.uint8)
    return np.concatenate([above, strip, below])


def caption(sets: PublicSets, part: str, name: str) -> str:
    """Returns the name of a set, with what it is made of and accuracies if they are public."""
    texts = [name]
    if part == "val":
        texts.append(", ".join(validation_groups(sets.competition)[name]))
    if part == "train":
        texts.append(next(rendering.made_of for rendering in sets.train if rendering.name == name))
    if part in TITLES:
        targets = read_targets(sets.competition, part)
        texts += [f"{each} {100 * targets[make_id(each, name)]:.1f} %" for each in sets.competition.subjects]
    return "   ".join(texts)


def _strip(rendering: Rendering, count: int, cell: int, margin: int) -> Pixels:
    """Returns the first `count` images in squares of `cell` pixels on white, with margins around columns."""
    images = next(iter(rendering.chunks()))[:count].permute(0, 2, 3, 1).numpy()
    canvas = np.full((cell, count * (cell + margin) + margin, 3), 255, np.uint8)
    for i, image in enumerate(images):
        left = margin + i * (cell + margin)
        canvas[:, left : left + cell] = cv2.resize(image, (cell, cell), interpolation=cv2.INTER_NEAREST)
    return canvas


def accuracies(competition: Competition, subject: str, part: str) -> FloatArray:
    """Returns the targets (m,) of one subject on the m sets of "train" or "val", in percent."""
    targets, names = read_targets(competition, part), competition.sets(part)
    return 100 * np.array([targets[make_id(subject, name)] for name in names])


def summary(competition: Competition) -> str:
    """Returns a line per subject and part: number of sets, and range and spread of targets in percent."""
    lines = []
    for subject in competition.subjects:
        for part, title in TITLES.items():
            values = accuracies(competition, subject, part)
            if len(values):
                low, middle, high = np.quantile(values, (0, 0.5, 1))
                quantity = competition.quantity(subject)
                lines.append(
                    f"{subject}: {len(values)} {title} sets, {quantity} {low:.1f} to {high:.1f} %, "
                    f"median {middle:.1f}, standard deviation {values.std():.1f}"
                )
    return "\n".join(lines)


def plot_accuracies(competition: Competition, out: Path) -> Path:
    """Write a PNG with a histogram for each subject: the sets of each public part by target."""
    figure = new_figure(7, 2.2 * len(competition.subjects) + 0.6)
    axes = figure.subplots(len(competition.subjects), 1, sharex=True, squeeze=False)[:, 0]
    for axis, subject in zip(axes, competition.subjects, strict=True):
        parts = {title: accuracies(competition, subject, part) for part, title in TITLES.items()}
        shown = {f"{title} ({len(values)})": values for title, values in parts.items() if len(values)}
        axis.hist(list(shown.values()), BINS, label=list(shown), histtype="barstacked")
        axis.set(ylabel="sets", xlim=(0, 100))
        axis.set_title(subject, loc="left")
        axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)  # on no bar
    quantities = dict.fromkeys(map(competition.quantity, competition.subjects))
    axes[-1].set_xlabel(f"{', '.join(quantities)}, %")
    return save_png(figure, out, dpi=110)
