"""The subjects of the accuracy track: classifiers, with their meta-train sets and the sets to predict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from starter.observing.observation import Lazy, MetaTrain, Observation, Source
from starter.observing.observe import Observer, logits_alone, observe_all
from starter.sets.rendering import Rendering
from starter.tracks.observer import open_observer, see, source_of
from starter.tracks.plan import Labels, Plan, Truth
from starter.tracks.sets import REFERENCES, PublicSets
from starter.tracks.settings import Settings
from submission import Competition, make_id
from submission.scoring import read_targets


@dataclass(frozen=True)
class ClassifierSubject:
    """One classifier, whose accuracy is to be predicted, and which observes sets.

    Attributes:
        name: Name of the classifier.
        sets: Images of the competition.
        observer: Observer with the classifier and the competition's cache.
        needs: Names of the fields of an Observation that are computed.
    """

    name: str
    sets: PublicSets
    observer: Observer
    needs: tuple[str, ...]

    @classmethod
    def open(
        cls, sets: PublicSets, name: str, needs: tuple[str, ...], device: str = "cpu"
    ) -> "ClassifierSubject":
        """Load the classifier `name`."""
        return cls(name, sets, open_observer(sets, name, needs, device), needs)

    def see(self, rendering: Rendering) -> None:
        """Put the observation of a set into the cache, if it is missing there."""
        see(rendering, self.sets, self.observer, self.needs)

    def observe(self, renderings: Sequence[Rendering], progress: bool = True) -> Lazy[Observation]:
        """Returns observations of the sets, from the cache or computed."""
        return observe_all(renderings, self.observer, self.needs, progress)

    @cached_property
    def source(self) -> Source:
        """The labelled in-distribution reference."""
        return source_of(self.sets, self.observer, self.needs)

    def meta_train(self, progress: bool = True) -> MetaTrain:
        """Returns the meta-train sets with their targets."""
        sets = self.sets.train
        observed = self.observe(sets, progress)
        labels = [rendering.labels() for rendering in sets]
        correct = [
            observation.predicted == truth
            for observation, truth in zip(logits_alone(sets, self.observer), labels, strict=True)
        ]
        targets = read_targets(self.sets.competition, "train")
        return MetaTrain(
            self.source,
            observed,
            np.array([targets[make_id(self.name, rendering.name)] for rendering in sets]),
            correct,
            [rendering.recipe.families for rendering in sets],
            bases=[rendering.recipe.indices(rendering.base) for rendering in sets],
            labels=labels,
        )

    def observations(self, part: str, progress: bool = True) -> Lazy[Observation]:
        """Returns the observations of the sets of `part`, "val" or "test", without labels."""
        return self.observe(self.sets.stored(part), progress)


def open_classifiers(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> Mapping[str, ClassifierSubject]:
    """Returns every subject of an accuracy competition by name, in order; they share the images."""
    sets = PublicSets(competition)
    return {name: ClassifierSubject.open(sets, name, needs, device) for name in competition.subjects}


def measure(
    draft: Competition, settings: Settings, plan: Plan, labels: Labels, needs: tuple[str, ...], device: str
) -> Truth:
    """Observe every set with every classifier; the targets are the accuracies."""
    sets = PublicSets(draft)
    accuracy: dict[str, dict[str, float]] = {part: {} for part in labels}
    for name in draft.subjects:
        subject = ClassifierSubject.open(sets, name, needs, device)
        subject.observe([sets.find(*each) for each in REFERENCES])
        for part, truth in labels.items():
            renderings = sets.train if part == "train" else sets.stored(part)
            subject.observe(renderings)
            for observation in logits_alone(renderings, subject.observer):
                right = observation.predicted == truth[observation.set_name]
                accuracy[part][make_id(name, observation.set_name)] = float(right.mean())
    return Truth(accuracy)
