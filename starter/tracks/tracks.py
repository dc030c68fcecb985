"""The two tracks as objects: how each plans sets, opens subjects, and measures the targets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from starter.observing.observation import MetaTrain, Seen, Source
from starter.sets.rendering import Rendering
from starter.tracks.accuracy.observe import ClassifierSubject, open_classifiers
from starter.tracks.accuracy.observe import measure as measure_accuracy
from starter.tracks.accuracy.plan import plan_accuracy
from starter.tracks.ood.observe import DetectorSubject, MixSets, open_detectors
from starter.tracks.ood.observe import measure as measure_mixes
from starter.tracks.ood.plan import plan_mixes
from starter.tracks.plan import Plan, Truth
from starter.tracks.sets import PublicSets
from submission import Competition


class Subject(Protocol):
    """What is under evaluation, with its meta-train sets and the sets to predict."""

    @property
    def name(self) -> str:
        """The subject's name."""

    @property
    def source(self) -> Source:
        """The labelled in-distribution reference."""

    def see(self, rendering: Rendering) -> None:
        """Put the observation of a set into the cache."""

    def observe(self, renderings: Sequence[Rendering], progress: bool = True) -> object:
        """Put everything that is read of the sets into the cache."""

    def meta_train(self, progress: bool = True) -> MetaTrain:
        """Returns the meta-train sets with their targets."""

    def observations(self, part: str, progress: bool = True) -> Sequence[Seen]:
        """Returns the observed sets of `part`, "val" or "test"."""


@dataclass(frozen=True)
class Track:
    """A track.

    Attributes:
        plan: Function of settings, splits, test seed and a network's look that plans the sets.
        measure: Function that observes all sets and returns the targets.
        needs: Fields observed while building, which cost no further forward pass.
        sets: Type of the images of a competition's public folder.
        open: Function of sets, classifier, needs and device that opens what observes sets with a classifier.
        subjects: Function of competition, needs and device that opens every subject by name.
        by_group: True if the public test sets are spread over the groups.
    """

    plan: Callable[..., Plan]
    measure: Callable[..., Truth]
    needs: tuple[str, ...]
    sets: type[PublicSets]
    open: Callable[[Any, str, tuple[str, ...], str], Subject]
    subjects: Callable[[Competition, tuple[str, ...], str], Mapping[str, Subject]]
    by_group: bool


TRACKS = {
    "accuracy": Track(
        plan_accuracy,
        measure_accuracy,
        ("moments", "image_stats"),
        PublicSets,
        ClassifierSubject.open,
        open_classifiers,
        by_group=True,
    ),
    "ood": Track(
        plan_mixes,
        measure_mixes,
        ("features",),
        MixSets,
        DetectorSubject.of_all,
        open_detectors,
        by_group=False,
    ),
}


def sets_of(competition: Competition) -> PublicSets:
    """Returns the images of a competition's public folder."""
    return TRACKS[competition.track].sets(competition)


def open_subjects(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> Mapping[str, Subject]:
    """Returns every subject by name, in order, with observations that have the fields in `needs`."""
    return TRACKS[competition.track].subjects(competition, needs, device)
