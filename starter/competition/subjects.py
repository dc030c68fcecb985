"""The subjects of a competition of either track."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from starter.competition.accuracy import open_classifiers
from starter.competition.mixes import MixSets
from starter.competition.ood import open_detectors
from starter.competition.scorer import Scorer
from starter.competition.sets import PublicSets
from starter.competition.view import View
from starter.observing.observation import MetaTrain, Seen, Source
from submission import Competition


class Subject(Protocol):
    """A subject under evaluation, with its meta-train sets and the sets to predict."""

    @property
    def name(self) -> str:
        """The subject's name."""

    @property
    def source(self) -> Source:
        """The labelled in-distribution reference."""

    def meta_train(self, progress: bool = True) -> MetaTrain:
        """Returns the meta-train sets with their targets."""

    def observations(self, part: str, progress: bool = True) -> Sequence[Seen]:
        """Returns the observed sets of `part`, "val" or "test"."""


SUBJECTS: dict[str, Callable[[Competition, tuple[str, ...], str], Mapping[str, Subject]]] = {
    "accuracy": open_classifiers,
    "ood": open_detectors,
}
"""Functions that open the subjects of a competition, by track."""
SETS: dict[str, type[PublicSets]] = {"accuracy": PublicSets, "ood": MixSets}
"""Classes for the images in the public folder, by track."""


def open_subjects(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> Mapping[str, Subject]:
    """Returns every subject by name, in order, with observations that have the fields in `needs`.

    Raises:
        UnusableInput: a classifier's weights are missing, damaged or do not fit the competition, or a field
            in `needs` is not available.
    """
    return SUBJECTS[competition.track](competition, needs, device)


LOOKERS: dict[str, Callable[[Any, str, tuple[str, ...], str], View | Scorer]] = {
    "accuracy": View.open,
    "ood": Scorer.of_all,
}
"""Functions of sets, classifier name, needs and device that open the observer of a track's sets."""
