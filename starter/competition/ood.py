"""A subject of the OOD track: a detector on a classifier, what to learn from and what to predict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.build.settings import MIX, POOL
from starter.competition.accuracy import PublicSets, Subject
from starter.detectors import DETECTORS, Detector
from starter.detectors.metrics import DETECTION_METRICS
from starter.images.imageset import ImageSet
from starter.observing.cache import Layout
from starter.observing.lazy import Lazy
from starter.observing.observation import MetaTrain, Moments, Observation, ScoredMix, Source
from starter.observing.observe import observe_all, read
from starter.sets.mix import FromPools, Mix, family
from starter.sets.rendering import FromRecipe, Rendering
from submission import Competition, UnusableInput
from submission.files import digest_of
from submission.scoring import read_targets
from submission.tracks import TRACKS

VERSION = 1
"""Part of every key of cached scores: raise it when a detector changes what it gives."""
MIXES_FILE = "train/mixes.jsonl"

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class MixSets(PublicSets):
    """The images of an OOD competition's public folder; the meta-train mixes are drawn from two pools."""

    @cached_property
    def ind_pool(self) -> ImageSet:
        """The IND images of the meta-train mixes, without their labels."""
        return replace(self.base, name="ind", labels=None)

    def ood_pool(self, name: str) -> ImageSet:
        """The images of one OOD set."""
        return self._ood_pools[name]

    @cached_property
    def _ood_pools(self) -> dict[str, ImageSet]:
        names = dict.fromkeys(mix.ood_set for mix in self.mixes)
        return {name: self._read(f"ood/{name}.npz", labelled=False) for name in names}

    @cached_property
    def mixes(self) -> tuple[Mix, ...]:
        """The meta-train mixes."""
        path = self.competition.file(MIXES_FILE)
        mixes = tuple(map(Mix.from_json, path.read_text(encoding="utf-8").splitlines()))
        if tuple(mix.name for mix in mixes) != self.competition.sets("train"):
            raise UnusableInput(f"{path} names other sets than competition.json")
        return mixes

    @cached_property
    def train(self) -> tuple[FromPools, ...]:  # type: ignore[override]
        """The meta-train mixes with their pools."""
        return tuple(FromPools(mix, self.ind_pool, self.ood_pool(mix.ood_set)) for mix in self.mixes)

    def observed(self, part: str) -> list[tuple[str, str]]:
        """As of `PublicSets`; of meta-train mixes it is the pools, "ind" and one of "ood" each."""
        if part != "train":
            return super().observed(part)
        return [
            ("ind", "base"),
            *(("ood", name) for name in dict.fromkeys(mix.ood_set for mix in self.mixes)),
        ]

    def find(self, part: str, name: str) -> Rendering:
        """As of `PublicSets`."""
        if part == "ind":
            return FromRecipe.whole(self.ind_pool)
        if part == "ood":
            return FromRecipe.whole(self._read(f"ood/{name}.npz", labelled=False))
        return super().find(part, name)


@dataclass(frozen=True)
class View:
    """One classifier of a competition and its detectors: what they see of any set, from the cache.

    Attributes:
        subject: the classifier, observed with all that methods and detectors need.
        detectors: prototypes by name.
        needs: what methods need.
    """

    subject: Subject
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
    ) -> "View":
        """Load the classifier.

        Raises:
            UnusableInput: as `Subject.open`.
        """
        chosen = {name: DETECTORS[name] for name in detectors}
        wanted = {*needs, *(need for detector in chosen.values() for need in detector.needs)}
        if "moments" in needs:  # a mix's are those of the features of its images
            wanted.add("features")
        return cls(Subject.open(sets, classifier, tuple(sorted(wanted)), device), chosen, needs)

    @cached_property
    def source(self) -> Source:
        """The labelled in-distribution reference."""
        return self.subject.source

    def observe(self, renderings: Sequence[Rendering], progress: bool = True) -> None:
        """Put the observations and all detectors' scores into the cache, where they are not there yet."""
        observe_all(renderings, self.subject.observer, self._rows, progress)
        cache = self.subject.observer.cache
        for name in self.detectors:
            left = [each for each in renderings if not cache.path("scores", self._key(name, each)).exists()]
            slow = progress and self.detectors[name].online
            with tqdm(total=sum(map(len, left)), unit="img", desc=name, disable=not (left and slow)) as bar:
                for rendering in left:
                    self.scores(name, rendering)
                    bar.update(len(rendering))

    def observation(self, rendering: Rendering) -> Observation:
        """What the classifier sees of a set; moments are left to whoever makes a mix of it."""
        return read(rendering, self.subject.observer, self._rows)

    def scores(self, detector: str, rendering: Rendering) -> Scores:
        """The detector's score of every image of a set, float64 (n,)."""
        cache, layout = self.subject.observer.cache, _layout(rendering)
        key = self._key(detector, rendering)
        found = cache.load("scores", key, layout)
        if found is None:
            found = {"scores": self._fitted(detector).score(self.observation(rendering))}
            cache.store("scores", key, found)
        return found["scores"]

    def pool(self, images: ImageSet) -> Observation:
        """What the classifier sees of a whole pool, kept in memory."""
        return self._kept(("observation", images.digest), lambda: self.observation(FromRecipe.whole(images)))

    def pool_scores(self, detector: str, images: ImageSet) -> Scores:
        """The detector's scores of a whole pool, kept in memory."""
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
        return tuple(need for need in self.subject.needs if need != "moments")

    @cached_property
    def _reference(self) -> str:
        sets, classifier = self.subject.sets, self.subject.observer.classifier
        return digest_of(classifier.digest, classifier.device, sets.reference.digest, sets.train_ref.digest)

    def _key(self, detector: str, rendering: Rendering) -> str:
        return digest_of(VERSION, repr(self.detectors[detector]), self._reference, rendering.digest)


@dataclass(frozen=True)
class MixSubject:
    """One metric of one detector on one classifier.

    Attributes:
        name: ``<classifier>:<detector>:<metric>``.
        sets: the competition's images.
        view: the classifier's, shared by all its subjects.
    """

    name: str
    sets: MixSets
    view: View

    @property
    def detector(self) -> str:
        return TRACKS["ood"].split(self.name)[1]

    @property
    def metric(self) -> str:
        return TRACKS["ood"].split(self.name)[2]

    @cached_property
    def source(self) -> Source:
        """The labelled in-distribution reference with its scores."""
        reference = FromRecipe.whole(replace(self.sets.reference, labels=None))
        return replace(self.view.source, scores=self.view.scores(self.detector, reference))

    def meta_train(self, progress: bool = True) -> MetaTrain:
        """The meta-train mixes with their targets; every pool is observed once, and a mix is rows of it."""
        renderings = self.sets.train
        pools = {pool.name: pool for mix in renderings for pool in (mix.ind, mix.ood)}
        self.view.observe([FromRecipe.whole(pool) for pool in pools.values()], progress)
        targets = read_targets(self.sets.competition, "train")
        return MetaTrain(
            self.source,
            Lazy(renderings, self._from_pools),
            np.array([targets[f"{self.name}/{mix.name}"] for mix in renderings]),
            (),
            [frozenset({family(mix.mix.ood_set)}) for mix in renderings],
            [mix.is_ood() for mix in renderings],
            [mix.mix.ood_set for mix in renderings],
            str(self.sets.competition.settings.get("fpr", POOL)),
        )

    def observations(self, part: str, progress: bool = True) -> Lazy[ScoredMix]:
        """The mixes of "val" or "test"."""
        renderings = self.sets.stored(part)
        self.view.observe(renderings, progress)
        return Lazy(renderings, self._from_file)

    def _from_file(self, rendering: Rendering) -> ScoredMix:
        observed = self.view.observation(rendering)
        return self._scored(observed, self.view.scores(self.detector, rendering))

    def _from_pools(self, rendering: FromPools) -> ScoredMix:
        pools, view = (rendering.ind, rendering.ood), self.view
        rows = rendering.mix.rows(len(rendering.ind), len(rendering.ood))
        ind, ood = (view.pool(pool) for pool in pools)
        scores = [view.pool_scores(self.detector, pool) for pool in pools]
        mixed = replace(merged(rendering.name, ind, ood, *rows), render=rendering.images)
        return self._scored(mixed, picked(scores[0], scores[1], *rows))

    def _scored(self, observed: Observation, scores: Scores) -> ScoredMix:
        if "moments" in self.view.needs:
            observed = replace(observed, moments=moments_of(observed))
        return ScoredMix(observed, self.detector, self.metric, scores)


def open_mix_subjects(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> dict[str, MixSubject]:
    """Every subject of an OOD competition, in order; those of one classifier share what is seen.

    Raises:
        UnusableInput: as `Subject.open`; a detector is unknown to this release.
    """
    sets, views, subjects = MixSets(competition), {}, {}
    detectors = detectors_of(competition)
    for subject in competition.subjects:
        classifier = TRACKS["ood"].split(subject)[0]
        if classifier not in views:
            views[classifier] = View.open(sets, classifier, detectors, needs, device)
        subjects[subject] = MixSubject(subject, sets, views[classifier])
    return subjects


def detectors_of(competition: Competition) -> tuple[str, ...]:
    """The names of the detectors that a competition is about.

    Raises:
        UnusableInput: one is unknown to this release.
    """
    names = tuple(dict.fromkeys(TRACKS["ood"].split(subject)[1] for subject in competition.subjects))
    for name in names:
        if name not in DETECTORS:
            raise UnusableInput(
                f"{competition.root}: this release has no detector {name!r}; there are {', '.join(DETECTORS)}"
            )
    return names


def true_metric(metric: str, fpr: str, pool: Scores, scores: Scores, is_ood: NDArray[np.bool_]) -> float:
    """The true metric of a mix, in [0, 1], IND-positive.

    Args:
        metric: a name in DETECTION_METRICS.
        fpr: `POOL` takes the threshold of FPR from `pool`, `MIX` from the mix's own IND images.
        pool: scores (p,) of the whole IND pool that the mix is drawn from.
        scores, is_ood: of the mix's images (n,).
    """
    own = fpr == MIX or not metric.startswith("fpr")
    return DETECTION_METRICS[metric](scores[~is_ood] if own else pool, scores[is_ood])


def merged(
    name: str, ind: Observation, ood: Observation, rows: NDArray[np.int64], is_ood: NDArray[np.bool_]
) -> Observation:
    """The observation `name` whose image i is row `rows[i]` of `ood` where `is_ood[i]`, else of `ind`."""

    def both(field: str) -> NDArray[Any] | None:
        first, second = getattr(ind, field), getattr(ood, field)
        return None if first is None or second is None else picked(first, second, rows, is_ood)

    return Observation(
        name,
        ind.classifier,
        picked(ind.logits, ood.logits, rows, is_ood),
        features=both("features"),
        image_stats=both("image_stats"),
        rotation=both("rotation"),
        views={view: picked(ind.views[view], ood.views[view], rows, is_ood) for view in ind.views},
    )


def picked(
    ind: NDArray[Any], ood: NDArray[Any], rows: NDArray[np.int64], is_ood: NDArray[np.bool_]
) -> NDArray[Any]:
    """Row `rows[i]` of `ood` where `is_ood[i]`, else of `ind`."""
    chosen = ind[np.where(is_ood, 0, rows)]
    chosen[is_ood] = ood[rows[is_ood]]
    return chosen


def moments_of(observed: Observation) -> Moments:
    """The moments of an observation's features."""
    assert observed.features is not None
    features = observed.features.astype(np.float64)
    mean = features.mean(axis=0)
    centred = features - mean
    return Moments(mean, centred.T @ centred / max(len(features) - 1, 1), len(features))


def _layout(rendering: Rendering) -> Layout:
    return {"scores": (np.float64, (len(rendering),))}
