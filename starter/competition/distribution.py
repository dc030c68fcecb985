"""The distribution of targets: a histogram per subject of the meta-train and validation sets."""

import io
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from submission import Competition
from submission.files import replacing

PARTS = {"train": "meta-train", "val": "validation"}
BINS = np.arange(0, 102.5, 2.5)
"""Edges of the histogram's bars, in percent."""


def accuracies(competition: Competition, subject: str, part: str) -> NDArray[np.float64]:
    """The targets (m,) of one subject on the m sets of "train" or "val", in percent."""
    targets = competition.targets(part)
    return 100 * np.array(
        [value for name, value in targets.items() if competition.subject_of(name) == subject]
    )


def summary(competition: Competition) -> str:
    """A line per subject and part: how many sets, and how their targets are spread, in percent."""
    lines = []
    for subject in competition.subjects:
        for part, title in PARTS.items():
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
    figure = Figure(figsize=(7, 2.2 * len(competition.subjects) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(competition.subjects), 1, sharex=True, squeeze=False)[:, 0]
    for axis, subject in zip(axes, competition.subjects, strict=True):
        parts = {title: accuracies(competition, subject, part) for part, title in PARTS.items()}
        shown = {f"{title} ({len(values)})": values for title, values in parts.items() if len(values)}
        axis.hist(list(shown.values()), BINS, label=list(shown), histtype="barstacked")
        axis.set(title=subject, ylabel="sets", xlim=(0, 100))
        axis.legend(loc="upper left")
    quantities = dict.fromkeys(map(competition.quantity, competition.subjects))
    axes[-1].set_xlabel(f"{', '.join(quantities)}, %")
    encoded = io.BytesIO()
    figure.savefig(encoded, format="png", dpi=110, metadata={"Software": None})
    with replacing(out) as temporary:
        temporary.write_bytes(encoded.getvalue())
    return out
