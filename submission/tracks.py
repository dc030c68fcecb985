"""Tracks: the quantities that a competition asks for, and the metric that ranks."""

from collections.abc import Mapping
from dataclasses import dataclass

from submission.errors import UnusableInput


@dataclass(frozen=True)
class Track:
    """The properties of a track that are needed to validate and score submissions."""

    asks: str  # readable name of the quantity that is predicted
    metrics: Mapping[str, str]  # title by name; never pooled, and the first that a competition has ranks
    subject: tuple[str, ...]  # names of the parts of a subject's name, which are joined by ":"
    deviations: bool  # whether the build measures each target's; else it is a share of images, binomial
    train: str  # contents of the meta-train sets, in the data card
    example: str  # method of the kit that texts use as an example
    labels: tuple[str, ...] = ()  # meanings of an image's label 0, 1, ...; () of classes

    def split(self, subject: str) -> tuple[str, ...]:
        """Returns the parts of a subject's name, as many as `self.subject`; the first may contain ":"."""
        parts = tuple(subject.rsplit(":", len(self.subject) - 1))
        form = ":".join(f"<{part}>" for part in self.subject)
        if len(parts) < len(self.subject):
            raise ValueError(f"subject {subject!r} is not of the form {form}")
        if "metric" in self.subject and parts[-1] not in self.metrics:
            raise ValueError(f"subject {subject!r}: the metric must be one of {', '.join(self.metrics)}")
        return parts

    def metric(self, subject: str) -> str:
        """Returns the metric that is predicted of a subject."""
        return self.split(subject)[-1] if "metric" in self.subject else next(iter(self.metrics))


TRACKS = {
    "accuracy": Track(
        asks="the accuracy of each classifier on each set",
        metrics={"accuracy": "accuracy"},
        subject=("classifier",),
        deviations=False,
        train="recipes, rendered from the base; targets are given",
        example="fd",
    ),
    "ood": Track(
        asks="each metric (IND is the positive class) of each OOD detector on each mix of IND and OOD images",
        metrics={
            "fpr95": "FPR@95",
            "auroc": "AUROC",
            "fpr80": "FPR@80",
            "fpr60": "FPR@60",
            "aupr-in": "AUPR-in",
            "aupr-out": "AUPR-out",
            "detection-error": "detection error",
        },
        subject=("classifier", "detector", "metric"),
        deviations=True,
        train="mixes, drawn from the base and from `public/ood/`; targets are given",
        example="plugin-mpe",
        labels=("ind", "ood"),
    ),
}
"""Every track, by its name in competition.json."""


def require_track(name: str) -> str:
    """Returns the name, after checking that there is such a track."""
    if name not in TRACKS:
        raise UnusableInput(f"--track {name!r} is unknown; there are {', '.join(TRACKS)}")
    return name
