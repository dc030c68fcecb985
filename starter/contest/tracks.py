"""The two tracks as objects: how each plans sets, opens subjects, and measures the targets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from starter.contest.accuracy.observe import ClassifierSubject
from starter.contest.accuracy.observe import measure as measure_accuracy
from starter.contest.accuracy.plan import plan_accuracy
from starter.contest.ood.observe import DetectorSubject, MixSets
from starter.contest.ood.observe import measure as measure_mixes
from starter.contest.ood.plan import plan_mixes
from starter.contest.plan import Plan, Values
from starter.contest.subject import Subject
from starter.observing.sets import PublicSets
from submission import Competition
from submission.tracks import TRACKS as SCORED


@dataclass(frozen=True)
class Track:
    """How a track plans sets, measures targets, and opens subjects; `needs` are observed while building."""

    plan: Callable[..., Plan]
    measure: Callable[..., tuple[Values, Values]]
    needs: tuple[str, ...]
    sets: type[PublicSets]
    subject: type[Subject]
    by_group: bool


TRACKS = {
    "accuracy": Track(
        plan_accuracy,
        measure_accuracy,
        ("moments", "image_stats"),
        PublicSets,
        ClassifierSubject,
        by_group=True,
    ),
    "ood": Track(plan_mixes, measure_mixes, ("features",), MixSets, DetectorSubject, by_group=False),
}


def sets_of(competition: Competition) -> PublicSets:
    """Returns the images of a competition's public folder."""
    return TRACKS[competition.track].sets(competition)


def open_subjects(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> Mapping[str, Subject]:
    """Returns every subject by name, in order, with observations that have the fields in `needs`."""
    sets = sets_of(competition)
    track = TRACKS[competition.track]
    opened = {name: track.subject.open(sets, name, needs, device) for name in competition.classifiers}
    split = SCORED[competition.track].split
    return {name: replace(opened[split(name)[0]], name=name) for name in competition.subjects}
