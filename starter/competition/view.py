"""A view: one classifier of a competition with its peers and referees, which observes sets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from starter.classifiers import read_classifier
from starter.competition.referees import open_referees
from starter.competition.sets import PublicSets
from starter.observing.cache import cache_of
from starter.observing.lazy import Lazy
from starter.observing.observation import REFEREE_NEEDS, Observation, Source, unmet
from starter.observing.observe import Observer, observe, observe_all
from starter.sets.rendering import FromRecipe, Rendering
from submission import Competition, UnusableInput


@dataclass(frozen=True)
class View:
    """One classifier of a competition, with the rotation head, peers and referees named in `needs`.

    Attributes:
        sets: Images of the competition.
        name: Name of the classifier.
        observer: Observer with the classifier and the competition's cache.
        needs: Names of the fields of an Observation that are computed.
    """

    sets: PublicSets
    name: str
    observer: Observer
    needs: tuple[str, ...]

    @classmethod
    def open(cls, sets: PublicSets, name: str, needs: tuple[str, ...], device: str = "cpu") -> "View":
        """Load the classifier `name`.

        Raises:
            UnusableInput: its weights are missing, damaged or do not fit the competition, or the competition
                has no data for a field in `needs`.
        """
        if reason := unmet(needs, sets.competition):
            raise UnusableInput(f"{sets.competition.root}: {reason}")
        observer = _observer(sets.competition, name, device)
        if "rotation" in needs:
            observer = observer.with_rotation_head(sets.train_ref)
        if "peers" in needs:
            others = [other for other in sets.competition.classifiers if other != name]
            peers = tuple(_observer(sets.competition, other, device) for other in others)
            observer = replace(observer, peers=peers)
        if REFEREE_NEEDS & set(needs):
            observer = replace(observer, referees=open_referees(sets.competition, device))
        return cls(sets, name, observer, needs)

    def see(self, rendering: Rendering) -> None:
        """Put the observation of a set into the cache, if it is missing there.

        Observations of referees are computed for the first classifier only, and shared by the others.
        """
        needs = set(self.needs)
        if self.name != self.sets.competition.classifiers[0]:
            needs -= REFEREE_NEEDS
        observe(rendering, self.observer, needs)

    def observe(self, renderings: Sequence[Rendering], progress: bool = True) -> Lazy[Observation]:
        """Returns observations of the sets, from the cache or computed."""
        return observe_all(renderings, self.observer, self.needs, progress)

    @cached_property
    def source(self) -> Source:
        """The labelled in-distribution reference."""
        reference, train_ref = self.sets.reference, self.sets.train_ref
        observed = self.observe(
            (FromRecipe.whole(replace(reference, labels=None)), FromRecipe.whole(train_ref)), False
        )
        classifier = self.observer.classifier
        assert reference.labels is not None
        return Source(
            observed[0],
            reference.labels,
            observed[1],
            classifier.head_weight,
            classifier.head_bias,
            replace(classifier),
        )


def _observer(competition: Competition, name: str, device: str) -> Observer:
    """Returns the classifier `name` with the competition's cache."""
    weights = competition.file(f"classifiers/{name}.safetensors")
    classifier = read_classifier(weights, name, competition.precision, device, competition.engine)
    if classifier.classes != competition.classes:
        raise UnusableInput(f"{weights} was made for other classes than the competition's")
    return Observer(classifier, cache_of(competition.root))
