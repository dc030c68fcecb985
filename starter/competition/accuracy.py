"""The subjects of the accuracy track: classifiers, with their meta-train sets and the sets to predict."""

from dataclasses import dataclass

import numpy as np

from starter.competition.sets import PublicSets
from starter.competition.view import View
from starter.observing.lazy import Lazy
from starter.observing.observation import MetaTrain, Observation, Source
from starter.observing.observe import logits_alone
from submission import Competition
from submission.scoring import read_targets


@dataclass(frozen=True)
class ClassifierSubject:
    """One classifier, whose accuracy is to be predicted.

    Attributes:
        view: View of the classifier, which observes sets.
    """

    view: View

    @classmethod
    def open(
        cls, sets: PublicSets, name: str, needs: tuple[str, ...], device: str = "cpu"
    ) -> "ClassifierSubject":
        """Load the classifier `name`; for errors see `View.open`."""
        return cls(View.open(sets, name, needs, device))

    @property
    def name(self) -> str:
        """The classifier's name."""
        return self.view.name

    @property
    def source(self) -> Source:
        """The labelled in-distribution reference."""
        return self.view.source

    def meta_train(self, progress: bool = True) -> MetaTrain:
        """Returns the meta-train sets with their targets."""
        sets = self.view.sets
        observed = self.view.observe(sets.train, progress)
        labels = [rendering.labels() for rendering in sets.train]
        correct = [
            observation.predicted == truth
            for observation, truth in zip(logits_alone(sets.train, self.view.observer), labels, strict=True)
        ]
        targets = read_targets(sets.competition, "train")
        values = np.array([targets[f"{self.name}/{rendering.name}"] for rendering in sets.train])
        return MetaTrain(
            self.source,
            observed,
            values,
            correct,
            [rendering.recipe.families for rendering in sets.train],
            bases=[rendering.recipe.indices(rendering.base) for rendering in sets.train],
            labels=labels,
        )

    def observations(self, part: str, progress: bool = True) -> Lazy[Observation]:
        """Returns the observations of the sets of `part`, "val" or "test", without labels."""
        return self.view.observe(self.view.sets.stored(part), progress)


def open_classifiers(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> dict[str, ClassifierSubject]:
    """Returns every subject of an accuracy competition by name, in order; they share the images.

    Raises:
        UnusableInput: see `View.open`.
    """
    sets = PublicSets(competition)
    return {name: ClassifierSubject.open(sets, name, needs, device) for name in competition.subjects}
