"""The subjects of the accuracy track: classifiers, with their meta-train sets and the sets to predict."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from starter.contest.plan import Labels, Plan, Values
from starter.contest.settings import Settings
from starter.contest.subject import Subject
from starter.data.sets.rendering import Rendering
from starter.observing.observation import Lazy, MetaTrain, Observation
from starter.observing.observe import observe_all
from starter.observing.sets import REFERENCES, PublicSets
from submission import Competition, make_id
from submission.progress import progress
from submission.scoring import read_targets
from submission.solution import write_images


class ClassifierSubject(Subject):
    """A classifier, whose accuracy is to be predicted, and which observes sets."""

    def observe(self, renderings: Sequence[Rendering], total: Any = None) -> Lazy[Observation]:
        """Returns observations of the sets, from the cache or computed; see `observe_all`."""
        return observe_all(renderings, self.observer, self.needs, total)

    def meta_train(self) -> MetaTrain:
        """See `Subject`."""
        sets = self.sets.train
        observed = self.observe(sets)
        labels = [rendering.labels() for rendering in sets]
        correct = [
            observation.predicted == truth
            for observation, truth in zip(observe_all(sets, self.observer, ()), labels, strict=True)
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

    def observations(self, part: str) -> Lazy[Observation]:
        """See `Subject`."""
        return self.observe(self.sets.stored(part))


def measure(
    draft: Competition, settings: Settings, plan: Plan, labels: Labels, needs: tuple[str, ...], device: str
) -> tuple[Values, Values]:
    """Observe every set with every classifier; returns the accuracies, and no deviations, which follow."""
    sets = PublicSets(draft)
    accuracy: Values = {part: {} for part in labels}
    predicted = {}
    parts = {part: sets.train if part == "train" else sets.stored(part) for part in labels}
    every = [*(sets.find(*each) for each in REFERENCES), *chain(*parts.values())]
    with progress(None, "observe", len(draft.subjects) * sum(map(len, every)), "images") as total:
        for name in draft.subjects:
            subject = ClassifierSubject.open(sets, name, needs, device)
            subject.observe(every, total)
            for part, renderings in parts.items():
                for observation in observe_all(renderings, subject.observer, ()):
                    right = observation.predicted == labels[part][observation.set_name]
                    accuracy[part][make_id(name, observation.set_name)] = float(right.mean())
                    if part == "test":
                        predicted[make_id(name, observation.set_name)] = observation.predicted
    write_images(draft.root, labels["test"], predicted)
    return accuracy, {}
