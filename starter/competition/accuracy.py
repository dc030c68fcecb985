"""A subject of a competition: one classifier with everything that methods may learn from and must predict.

Groups of validation sets: what kind of shift each shows, for reports; test sets' groups stay hidden.
"""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from starter.classifiers import read_classifier
from starter.images.arrays import read_npz
from starter.images.imageset import ImageSet
from starter.observing.cache import cache_of
from starter.observing.lazy import Lazy
from starter.observing.observation import MetaTrain, Observation, Source, unmet
from starter.observing.observe import Observer, logits_alone, observe_all
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromFile, FromRecipe, Rendering
from submission import Competition, UnusableInput
from submission.files import write_text
from submission.scoring import read_targets


@dataclass(frozen=True)
class PublicSets:
    """The images of a competition's public folder; every file is checked against its hash before use."""

    competition: Competition

    @cached_property
    def base(self) -> ImageSet:
        """The labelled images that meta-train sets are rendered from."""
        return self._read("base.npz", labelled=True)

    @cached_property
    def reference(self) -> ImageSet:
        """The labelled in-distribution images that no classifier was trained on."""
        return self._read("reference.npz", labelled=True)

    @cached_property
    def train_ref(self) -> ImageSet:
        """Unlabelled training images."""
        return self._read("train_ref.npz", labelled=False)

    @cached_property
    def train(self) -> tuple[FromRecipe, ...]:
        """The meta-train sets."""
        lines = self.competition.file("train/recipes.jsonl").read_text(encoding="utf-8").splitlines()
        recipes = [Recipe.from_json(line) for line in lines]
        if tuple(recipe.name for recipe in recipes) != self.competition.sets("train"):
            raise UnusableInput(
                f"{self.competition.public / 'train/recipes.jsonl'} names other sets than competition.json"
            )
        return tuple(FromRecipe(recipe, self.base) for recipe in recipes)

    def stored(self, part: str) -> tuple[FromFile, ...]:
        """The sets of "val" or "test"."""
        return tuple(self._stored(part, name) for name in self.competition.sets(part))

    def observed(self, part: str) -> list[tuple[str, str]]:
        """What has to be observed for the sets of `part`, in terms that `find` knows."""
        return [(part, name) for name in self.competition.sets(part)]

    def find(self, part: str, name: str) -> Rendering:
        """A set by its part and name; the part "source" holds "reference" and "train_ref". No other is read.

        Raises:
            UnusableInput: its file is missing or not the same any more.
        """
        if part == "source":
            return FromRecipe.whole(replace(getattr(self, name), labels=None))
        if part == "train":
            return next(rendering for rendering in self.train if rendering.name == name)
        return self._stored(part, name)

    def _stored(self, part: str, name: str) -> FromFile:
        file, competition = f"{part}/{name}.npz", self.competition
        return FromFile(
            name,
            competition.file(file),
            competition.files[file],
            competition.sizes[part][name],
            competition.image_size,
        )

    def _read(self, file: str, labelled: bool) -> ImageSet:
        images = read_npz(self.competition.file(file), Path(file).stem)
        if labelled and images.labels is None:
            raise UnusableInput(f"{self.competition.public / file} holds no labels")
        return images


@dataclass(frozen=True)
class Subject:
    """One classifier of a competition, observed with the head and the peers that `needs` asks for."""

    sets: PublicSets
    name: str
    observer: Observer
    needs: tuple[str, ...]

    @classmethod
    def open(cls, sets: PublicSets, name: str, needs: tuple[str, ...], device: str = "cpu") -> "Subject":
        """Load the classifier `name`.

        Raises:
            UnusableInput: its weights are missing, damaged or do not fit the competition, or the competition
                cannot give what `needs` asks for.
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
        return cls(sets, name, observer, needs)

    def observe(self, renderings: tuple[Rendering, ...], progress: bool = True) -> Lazy[Observation]:
        """Observations of the sets, computed where the cache lacks them."""
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

    def meta_train(self, progress: bool = True) -> MetaTrain:
        """The meta-train sets with their targets."""
        renderings = self.sets.train
        observed = self.observe(renderings, progress)
        seen = zip(logits_alone(renderings, self.observer), renderings, strict=True)
        correct = [observation.predicted == rendering.labels() for observation, rendering in seen]
        targets = read_targets(self.sets.competition, "train")
        values = np.array([targets[f"{self.name}/{rendering.name}"] for rendering in renderings])
        return MetaTrain(
            self.source,
            observed,
            values,
            correct,
            [rendering.recipe.families for rendering in renderings],
            bases=[rendering.recipe.indices(rendering.base) for rendering in renderings],
        )

    def observations(self, part: str, progress: bool = True) -> Lazy[Observation]:
        """The sets of "val" or "test", without their labels."""
        return self.observe(self.sets.stored(part), progress)


def open_classifiers(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> dict[str, Subject]:
    """Every subject of an accuracy competition by name, in order; they share the images.

    Raises:
        UnusableInput: as `Subject.open`.
    """
    sets = PublicSets(competition)
    return {name: Subject.open(sets, name, needs, device) for name in competition.subjects}


def _observer(competition: Competition, name: str, device: str) -> Observer:
    """The classifier `name` with the competition's cache."""
    weights = competition.file(f"classifiers/{name}.safetensors")
    classifier = read_classifier(weights, name, competition.precision, device)
    if classifier.classes != competition.classes:
        raise UnusableInput(f"{weights} was made for other classes than the competition's")
    return Observer(classifier, cache_of(competition.root))


GROUPS_FILE = "val/groups.csv"
HEADER = ["set", "group", "family"]


def write_groups(path: Path, planned: Iterable[tuple[str, str, str]]) -> None:
    """Write ``set,group,family``, a line per validation set."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(planned)
    write_text(path, lines.getvalue())


def read_groups(competition: Competition) -> dict[str, tuple[str, str]]:
    """Group and family of each validation set, by its name, in the competition's order.

    Raises:
        UnusableInput: the file is missing, was changed, or names other sets.
    """
    path = competition.file(GROUPS_FILE)
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream)) or [[]]
    if header != HEADER or any(len(row) != len(HEADER) for row in rows):
        raise UnusableInput(f"{path} is damaged: its columns must be {','.join(HEADER)}")
    groups = {name: (group, family) for name, group, family in rows}
    if tuple(groups) != competition.sets("val"):
        raise UnusableInput(f"{path} names other sets than public/competition.json")
    return groups
