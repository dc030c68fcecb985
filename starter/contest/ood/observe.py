"""The subjects of the OOD track: metrics of detectors, with meta-train mixes and the mixes to predict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from starter.contest.ood.plan import MIXES_FILE
from starter.contest.ood.settings import OodSettings
from starter.contest.plan import Labels, Plan, Values
from starter.contest.subject import Subject, open_observer
from starter.data.images.imageset import ImageSet
from starter.data.sets.mix import POOL, FromPools, Mix, family, picked
from starter.data.sets.rendering import FromRecipe, Rendering
from starter.observing.detectors import Detector, by_name
from starter.observing.detectors.metrics import deviation, true_metric
from starter.observing.observation import Lazy, MetaTrain, Moments, Observation, ScoredMix, Source, unmet
from starter.observing.observe import observe_all, read
from starter.observing.sets import PublicSets
from submission import Competition, UnusableInput, make_id
from submission.arrays import BoolArray, FloatArray, IntArray
from submission.files import digest_of
from submission.ids import split_id
from submission.progress import progress
from submission.random import NOISE_FLOOR
from submission.scoring import read_targets
from submission.tracks import TRACKS

VERSION = 1
"""Part of every key of cached scores, to be raised when the scores of a detector change."""

split = TRACKS["ood"].split


@dataclass(frozen=True)
class MixSets(PublicSets):
    """The images of an OOD competition's public folder; the meta-train mixes are drawn from two pools."""

    @cached_property
    def ind_pool(self) -> ImageSet:
        """The IND images of the meta-train mixes, without their labels."""
        return replace(self.base, name="ind", labels=None)

    @cached_property
    def ood_pools(self) -> dict[str, ImageSet]:
        """The images of each OOD set, by name."""
        names = dict.fromkeys(mix.ood_set for mix in self.mixes)
        return {name: self._read(f"ood/{name}.npz") for name in names}

    @cached_property
    def mixes(self) -> tuple[Mix, ...]:
        """The meta-train mixes."""
        return tuple(map(Mix.from_json, self.competition.text(MIXES_FILE).splitlines()))

    @cached_property
    def train(self) -> tuple[FromPools, ...]:  # type: ignore[override]
        """The meta-train mixes with their pools."""
        return tuple(FromPools(mix, self.ind_pool, self.ood_pools[mix.ood_set]) for mix in self.mixes)

    def observed(self, part: str) -> list[tuple[str, str]]:
        """Returns the sets as `PublicSets.observed`, but for meta-train mixes their IND and OOD pools."""
        if part != "train":
            return super().observed(part)
        names = dict.fromkeys(mix.ood_set for mix in self.mixes)
        return [("ind", "base"), *(("ood", name) for name in names)]

    def find(self, part: str, name: str) -> Rendering:
        """See `PublicSets`."""
        if part == "ind":
            return FromRecipe.whole(self.ind_pool)
        if part == "ood":
            return FromRecipe.whole(self._read(f"ood/{name}.npz"))
        return super().find(part, name)


@dataclass(frozen=True)
class DetectorSubject(Subject):
    """A classifier and its detectors; as a subject, one metric, ``<classifier>:<detector>:<metric>``."""

    sets: MixSets
    detectors: Mapping[str, Detector] = field(default_factory=dict)

    @classmethod
    def open(  # type: ignore[override]
        cls,
        sets: MixSets,
        classifier: str,
        needs: tuple[str, ...] = (),
        device: str = "cpu",
        detectors: Sequence[str] = (),
    ) -> "DetectorSubject":
        """Load the classifier with these detectors, by default the competition's."""
        chosen = by_name(detectors or dict.fromkeys(split(name)[1] for name in sets.competition.subjects))
        for name, detector in chosen.items():
            if reason := unmet(detector.needs, sets.competition):
                raise UnusableInput(f"detector {name}: {reason}")
        observer = open_observer(sets, classifier, _fields(needs, chosen), device)
        return cls(classifier, sets, observer, needs, detectors=chosen)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that are observed, for methods and detectors."""
        return _fields(self.needs, self.detectors)

    @cached_property
    def source(self) -> Source:
        """The labelled in-distribution reference with its scores."""
        reference = self.sets.find("source", "reference")
        return replace(self.plain_source, scores=self.scores(split(self.name)[1], reference))

    def meta_train(self) -> MetaTrain:
        """See `Subject`. Every pool is observed once; a mix consists of rows of two pools."""
        mixes = self.sets.train
        self.observe(mixes)
        targets = read_targets(self.sets.competition, "train")
        return MetaTrain(
            source=self.source,
            sets=Lazy(mixes, self._scored),
            targets=np.array([targets[make_id(self.name, mix.name)] for mix in mixes]),
            correct=(),
            families=[frozenset({family(mix.mix.ood_set)}) for mix in mixes],
            ood=[mix.rows[1] for mix in mixes],
            ood_sets=[mix.mix.ood_set for mix in mixes],
            fpr=str(self.sets.competition.settings.get("fpr", POOL)),
        )

    def observations(self, part: str) -> Lazy[ScoredMix]:
        """See `Subject`."""
        stored = self.sets.stored(part)
        self.observe(stored)
        return Lazy(stored, self._scored)

    def observe(self, renderings: Sequence[Rendering]) -> None:
        """Put missing observations, and scores of all detectors, into the cache; of mixes the pools'."""
        whole = {pool.digest: pool for each in renderings for pool in _pools(each)}
        cache = self.observer.cache
        observe_all(list(whole.values()), self.observer, self._rows)
        pairs = [(name, each) for name in self.detectors for each in whole.values()]
        left = [(name, each) for name, each in pairs if not cache.has("scores", self._key(name, each))]
        with progress(None, "score", sum(len(each) for _, each in left), "images") as bar:
            for name, each in left:
                bar.set_description_str(f"score by {name}", refresh=False)
                self.scores(name, each)
                bar.update(len(each))

    def observation(self, rendering: Rendering) -> Observation:
        """Returns the observation of a set, without moments, which are computed for mixes."""
        if not isinstance(rendering, FromPools):
            return read(rendering, self.observer, self._rows)
        parts = self._of_pools(rendering, "observation", self.observation)
        return replace(merged(rendering.name, *parts), render=rendering.render)

    def scores(self, detector: str, rendering: Rendering) -> FloatArray:
        """Returns the detector's score of every image of a set, float64 (n,)."""
        if isinstance(rendering, FromPools):
            return picked(*self._of_pools(rendering, detector, partial(self.scores, detector)))
        cache = self.observer.cache
        key = self._key(detector, rendering)
        found = cache.load("scores", key, {"scores": (np.float64, (len(rendering),))})
        if found is None:
            fitted = self.kept(("fitted", detector), lambda: self.detectors[detector].fit(self.plain_source))
            found = {"scores": fitted.score(self.observation(rendering))}
            cache.store("scores", key, found)
        return found["scores"]

    def _of_pools(self, mix: FromPools, name: str, look: Callable[[Rendering], Any]) -> tuple[Any, ...]:
        """Returns what `look` sees in the IND and in the OOD pool, each seen once, and the mix's rows."""
        ind, ood = (self.kept((name, pool.digest), partial(look, pool)) for pool in _pools(mix))
        return ind, ood, *mix.rows

    def _scored(self, rendering: Rendering) -> ScoredMix:
        observed = self.observation(rendering)
        if "moments" in self.needs:
            assert observed.features is not None
            observed = replace(observed, moments=Moments.of(observed.features))
        _, detector, metric = split(self.name)
        return ScoredMix(observed, detector, metric, self.scores(detector, rendering))

    @property
    def _rows(self) -> tuple[str, ...]:
        return tuple(need for need in self.fields if need != "moments")

    def _key(self, detector: str, rendering: Rendering) -> str:
        sets, classifier = self.sets, self.observer.classifier
        known = digest_of(classifier.digest, classifier.place, sets.reference.digest, sets.train_ref.digest)
        return digest_of(VERSION, repr(self.detectors[detector]), known, rendering.digest)


def _fields(needs: tuple[str, ...], detectors: Mapping[str, Detector]) -> tuple[str, ...]:
    """Returns what is observed for methods and detectors; the moments of a mix are those of its features."""
    wanted = {*needs, *(need for detector in detectors.values() for need in detector.needs)}
    return tuple(sorted(wanted | ({"features"} if "moments" in needs else set())))


def _pools(rendering: Rendering) -> tuple[Rendering, ...]:
    """Returns what is observed of a set: itself, or the whole IND and OOD pools of a mix."""
    if isinstance(rendering, FromPools):
        return FromRecipe.whole(rendering.ind), FromRecipe.whole(rendering.ood)
    return (rendering,)


def merged(name: str, ind: Observation, ood: Observation, rows: IntArray, is_ood: BoolArray) -> Observation:
    """Returns the observation `name`: image i is row `rows[i]` of `ood` where `is_ood[i]`, else of `ind`."""

    def both(first: FloatArray | None, second: FloatArray | None) -> FloatArray | None:
        return None if first is None or second is None else picked(first, second, rows, is_ood)

    names = ("features", "image_stats", "rotation", "referee_features")
    fields: dict[str, Any] = {each: both(getattr(ind, each), getattr(ood, each)) for each in names}
    views = {view: picked(ind.views[view], ood.views[view], rows, is_ood) for view in ind.views}
    logits = picked(ind.logits, ood.logits, rows, is_ood)
    return Observation(name, ind.classifier, logits, **fields, views=views)


def measure(
    draft: Competition, settings: OodSettings, plan: Plan, labels: Labels, needs: tuple[str, ...], device: str
) -> tuple[Values, Values]:
    """Returns every target, and its standard deviation over draws of images."""
    # The IND pools of hidden mixes would reveal their IND images, so workers never see them.
    sets = MixSets(draft)
    targets = dict[str, dict[str, float]]()
    deviations: Values = {"val": {}, "test": {}}
    opened = {name: DetectorSubject.open(sets, name, needs, device) for name in draft.classifiers}
    for part, of_sets in labels.items():
        targets[part] = {}
        scored = {name: _scores_of(subject, plan, part) for name, subject in opened.items()}
        for key in draft.ids(part):
            subject, set_name = split_id(key)
            classifier, detector, metric = split(subject)
            scores = scored[classifier]
            is_ood = of_sets[set_name].astype(bool)
            found = scores[detector, ""], scores[detector, set_name], is_ood
            targets[part][key] = true_metric(metric, settings.fpr, *found)
            if part in deviations:
                rng = NOISE_FLOOR(settings.seed, key)
                deviations[part][key] = deviation(metric, settings.fpr, *found, rng)
    return targets, deviations


def _scores_of(subject: DetectorSubject, plan: Plan, part: str) -> dict[tuple[str, str], FloatArray]:
    """Returns the scores of each mix by detector and name, those of the whole IND pool under the name ""."""
    whole = FromRecipe.whole(plan.bases[part])
    mixes = subject.sets.train if part == "train" else subject.sets.stored(part)
    subject.observe([whole, *mixes])
    found = {(name, mix.name): subject.scores(name, mix) for name in subject.detectors for mix in mixes}
    return found | {(name, ""): subject.scores(name, whole) for name in subject.detectors}
