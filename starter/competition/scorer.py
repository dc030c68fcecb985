"""A scorer: a classifier's view with its detectors, which score every image."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.competition.mixes import MixSets
from starter.competition.view import View
from starter.detectors import DETECTORS, Detector
from starter.images.imageset import ImageSet
from starter.observing.cache import Layout
from starter.observing.observation import Observation, Source
from starter.observing.observe import observe_all, read
from starter.sets.rendering import FromRecipe, Rendering
from submission import Competition, UnusableInput
from submission.files import digest_of
from submission.tracks import TRACKS

VERSION = 1
"""Part of every key of cached scores, to be raised when the scores of a detector change."""

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Scorer:
    """One classifier of a competition and its detectors, with cached observations and scores.

    Attributes:
        view: View of the classifier, with everything that methods and detectors need.
        detectors: Unfitted detectors by name.
        needs: Names of the fields that methods need.
    """

    view: View
    detectors: Mapping[str, Detector]
    needs: tuple[str, ...]

    @classmethod
    def open(
        cls,
        sets: MixSets,
        classifier: str,
        detectors: Sequence[str],
        needs: tuple[str, ...] = (),
        device: str = "cpu",
    ) -> "Scorer":
        """Load the classifier.

        Raises:
            UnusableInput: see `View.open`.
        """
        chosen = {name: DETECTORS[name] for name in detectors}
        wanted = {*needs, *(need for detector in chosen.values() for need in detector.needs)}
        if "moments" in needs:  # a mix's are those of the features of its images
            wanted.add("features")
        return cls(View.open(sets, classifier, tuple(sorted(wanted)), device), chosen, needs)

    @classmethod
    def of_all(cls, sets: MixSets, classifier: str, needs: tuple[str, ...], device: str = "cpu") -> "Scorer":
        """Load the classifier with every detector of the competition.

        Raises:
            UnusableInput: see `View.open` and `detectors_of`.
        """
        return cls.open(sets, classifier, detectors_of(sets.competition), needs, device)

    @cached_property
    def source(self) -> Source:
        """The labelled in-distribution reference."""
        return self.view.source

    def see(self, rendering: Rendering) -> None:
        """See `View`."""
        self.view.see(rendering)

    def observe(self, renderings: Sequence[Rendering], progress: bool = True) -> None:
        """Put missing observations and scores of all detectors into the cache."""
        observe_all(renderings, self.view.observer, self._rows, progress)
        cache = self.view.observer.cache
        for name in self.detectors:
            left = [each for each in renderings if not cache.path("scores", self._key(name, each)).exists()]
            disabled = None if left and progress and self.detectors[name].online else True
            with tqdm(total=sum(map(len, left)), unit="img", desc=name, disable=disabled) as bar:
                for rendering in left:
                    self.scores(name, rendering)
                    bar.update(len(rendering))

    def observation(self, rendering: Rendering) -> Observation:
        """Returns the observation of a set, without moments, which are computed for mixes."""
        return read(rendering, self.view.observer, self._rows)

    def scores(self, detector: str, rendering: Rendering) -> Scores:
        """Returns the detector's score of every image of a set, float64 (n,)."""
        cache, layout = self.view.observer.cache, _layout(rendering)
        key = self._key(detector, rendering)
        found = cache.load("scores", key, layout)
        if found is None:
            found = {"scores": self._fitted(detector).score(self.observation(rendering))}
            cache.store("scores", key, found)
        return found["scores"]

    def pool(self, images: ImageSet) -> Observation:
        """Returns the observation of a whole pool, which is kept in memory."""
        return self._kept(("observation", images.digest), lambda: self.observation(FromRecipe.whole(images)))

    def pool_scores(self, detector: str, images: ImageSet) -> Scores:
        """Returns the detector's scores of a whole pool, which are kept in memory."""
        return self._kept((detector, images.digest), lambda: self.scores(detector, FromRecipe.whole(images)))

    def _fitted(self, detector: str) -> Detector:
        return self._kept(("fitted", detector), lambda: self.detectors[detector].fit(self.source))

    def _kept(self, key: tuple[str, str], make: Callable[[], Any]) -> Any:
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    @cached_property
    def _memory(self) -> dict[tuple[str, str], Any]:
        return {}

    @property
    def _rows(self) -> tuple[str, ...]:
        return tuple(need for need in self.view.needs if need != "moments")

    @cached_property
    def _reference(self) -> str:
        sets, classifier = self.view.sets, self.view.observer.classifier
        return digest_of(classifier.digest, classifier.place, sets.reference.digest, sets.train_ref.digest)

    def _key(self, detector: str, rendering: Rendering) -> str:
        return digest_of(VERSION, repr(self.detectors[detector]), self._reference, rendering.digest)


def detectors_of(competition: Competition) -> tuple[str, ...]:
    """Returns the names of a competition's detectors.

    Raises:
        UnusableInput: a detector is unknown to this release.
    """
    names = tuple(dict.fromkeys(TRACKS["ood"].split(subject)[1] for subject in competition.subjects))
    for name in names:
        if name not in DETECTORS:
            raise UnusableInput(
                f"{competition.root}: this release has no detector {name!r}; there are {', '.join(DETECTORS)}"
            )
    return names


def _layout(rendering: Rendering) -> Layout:
    return {"scores": (np.float64, (len(rendering),))}
