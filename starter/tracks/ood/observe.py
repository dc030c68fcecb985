"""The subjects of the OOD track: metrics of detectors, with meta-train mixes and the mixes to predict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.detectors import DETECTORS, Detector
from starter.detectors.metrics import deviation, true_metric
from starter.images.imageset import ImageSet
from starter.observing.observation import (
    FEATURE_NEEDS,
    Lazy,
    MetaTrain,
    Moments,
    Observation,
    ScoredMix,
    Source,
)
from starter.observing.observe import Observer, observe_all, read
from starter.sets.mix import POOL, FromPools, Mix, family, picked
from starter.sets.rendering import FromRecipe, Rendering
from starter.tracks.observer import open_observer, see, source_of
from starter.tracks.ood.plan import MIXES_FILE
from starter.tracks.ood.settings import OodSettings
from starter.tracks.plan import Labels, Plan, Truth, Values
from starter.tracks.sets import REFERENCES, PublicSets, Task
from submission import Competition, UnusableInput, make_id
from submission.files import digest_of
from submission.random import NOISE_FLOOR
from submission.scoring import read_targets
from submission.tracks import TRACKS

VERSION = 1
"""Part of every key of cached scores, to be raised when the scores of a detector change."""

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class MixSets(PublicSets):
    """The images of an OOD competition's public folder; the meta-train mixes are drawn from two pools."""

    @cached_property
    def ind_pool(self) -> ImageSet:
        """The IND images of the meta-train mixes, without their labels."""
        return replace(self.base, name="ind", labels=None)

    def ood_pool(self, name: str) -> ImageSet:
        """Returns the images of one OOD set."""
        return self._ood_pools[name]

    @cached_property
    def _ood_pools(self) -> dict[str, ImageSet]:
        names = dict.fromkeys(mix.ood_set for mix in self.mixes)
        return {name: self._read(f"ood/{name}.npz", labelled=False) for name in names}

    @cached_property
    def mixes(self) -> tuple[Mix, ...]:
        """The meta-train mixes."""
        return tuple(map(Mix.from_json, self.competition.text(MIXES_FILE).splitlines()))

    @cached_property
    def train(self) -> tuple[FromPools, ...]:  # type: ignore[override]
        """The meta-train mixes with their pools."""
        return tuple(FromPools(mix, self.ind_pool, self.ood_pool(mix.ood_set)) for mix in self.mixes)

    def observed(self, part: str) -> list[tuple[str, str]]:
        """Returns the sets as `PublicSets.observed`, but for meta-train mixes their IND and OOD pools."""
        if part != "train":
            return super().observed(part)
        names = dict.fromkeys(mix.ood_set for mix in self.mixes)
        return [("ind", "base"), *(("ood", name) for name in names)]

    def tasks(self, parts: Sequence[str], source: bool) -> list[Task]:
        """See `PublicSets`; detectors are fitted on the references, and score the labelled one too."""
        found = [pair for part in parts for pair in self.observed(part)]
        return [("observe", REFERENCES), ("score", [*found, *REFERENCES[:1]] if source else found)]

    def find(self, part: str, name: str) -> Rendering:
        """See `PublicSets`."""
        if part == "ind":
            return FromRecipe.whole(self.ind_pool)
        if part == "ood":
            return FromRecipe.whole(self._read(f"ood/{name}.npz", labelled=False))
        return super().find(part, name)


@dataclass(frozen=True)
class DetectorSubject:
    """A classifier and its detectors, which observe and score sets; as a subject, one metric of one detector.

    Attributes:
        name: Name of the subject, ``<classifier>:<detector>:<metric>``, or of the classifier alone.
        sets: Images of the competition.
        observer: Observer with the classifier and the competition's cache.
        needs: Names of the fields that methods need.
        detectors: Unfitted detectors by name.
        memory: Fitted detectors, and the pools' observations and scores, which a classifier's subjects share.
    """

    name: str
    sets: MixSets
    observer: Observer
    needs: tuple[str, ...]
    detectors: Mapping[str, Detector]
    memory: dict[tuple[str, str], Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(
        cls,
        sets: MixSets,
        classifier: str,
        detectors: Sequence[str],
        needs: tuple[str, ...] = (),
        device: str = "cpu",
    ) -> "DetectorSubject":
        """Load the classifier with these detectors."""
        chosen = {name: DETECTORS[name] for name in detectors}
        observer = open_observer(sets, classifier, _fields(needs, chosen), device)
        return cls(classifier, sets, observer, needs, chosen)

    @classmethod
    def of_all(
        cls, sets: MixSets, classifier: str, needs: tuple[str, ...], device: str = "cpu"
    ) -> "DetectorSubject":
        """Load the classifier with every detector of the competition."""
        return cls.open(sets, classifier, detectors_of(sets.competition), needs, device)

    @property
    def detector(self) -> str:
        """The detector's name."""
        return TRACKS["ood"].split(self.name)[1]

    @property
    def metric(self) -> str:
        """The metric's name."""
        return TRACKS["ood"].split(self.name)[2]

    @cached_property
    def source(self) -> Source:
        """The labelled in-distribution reference with its scores."""
        reference = FromRecipe.whole(replace(self.sets.reference, labels=None))
        return replace(self.plain_source, scores=self.scores(self.detector, reference))

    @property
    def plain_source(self) -> Source:
        """The labelled in-distribution reference without scores, on which detectors are fitted."""
        fields = _fields(self.needs, self.detectors)
        return self._kept(("source", ""), lambda: source_of(self.sets, self.observer, fields))

    def meta_train(self, progress: bool = True) -> MetaTrain:
        """Returns the meta-train mixes with their targets.

        Every pool is observed once; a mix consists of rows of two pools.
        """
        mixes = self.sets.train
        pools = {pool.name: pool for mix in mixes for pool in (mix.ind, mix.ood)}
        self.observe([FromRecipe.whole(pool) for pool in pools.values()], progress)
        targets = read_targets(self.sets.competition, "train")
        return MetaTrain(
            self.source,
            Lazy(mixes, self._from_pools),
            np.array([targets[make_id(self.name, mix.name)] for mix in mixes]),
            (),
            [frozenset({family(mix.mix.ood_set)}) for mix in mixes],
            [mix.is_ood() for mix in mixes],
            [mix.mix.ood_set for mix in mixes],
            str(self.sets.competition.settings.get("fpr", POOL)),
        )

    def observations(self, part: str, progress: bool = True) -> Lazy[ScoredMix]:
        """Returns the observed and scored mixes of `part`, "val" or "test"."""
        stored = self.sets.stored(part)
        self.observe(stored, progress)
        return Lazy(stored, self._from_file)

    def see(self, rendering: Rendering) -> None:
        """Put the observation of a set into the cache, if it is missing there."""
        see(rendering, self.sets, self.observer, _fields(self.needs, self.detectors))

    def observe(self, renderings: Sequence[Rendering], progress: bool = True) -> None:
        """Put missing observations and scores of all detectors into the cache."""
        observe_all(renderings, self.observer, self._rows, progress)
        cache = self.observer.cache
        for name in self.detectors:
            left = [each for each in renderings if not cache.has("scores", self._key(name, each))]
            disabled = None if left and progress and self.detectors[name].online else True
            with tqdm(total=sum(map(len, left)), unit="img", desc=name, disable=disabled) as bar:
                for rendering in left:
                    self.scores(name, rendering)
                    bar.update(len(rendering))

    def observation(self, rendering: Rendering) -> Observation:
        """Returns the observation of a set, without moments, which are computed for mixes."""
        return read(rendering, self.observer, self._rows)

    def scores(self, detector: str, rendering: Rendering) -> Scores:
        """Returns the detector's score of every image of a set, float64 (n,)."""
        cache, key = self.observer.cache, self._key(detector, rendering)
        found = cache.load("scores", key, {"scores": (np.float64, (len(rendering),))})
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

    def mix_scores(self, detector: str, mix: FromPools) -> Scores:
        """Returns the detector's score of every image of a mix of two pools, float64 (n,)."""
        ind, ood = (self.pool_scores(detector, pool) for pool in (mix.ind, mix.ood))
        return picked(ind, ood, *mix.mix.rows(len(mix.ind), len(mix.ood)))

    def _from_file(self, rendering: Rendering) -> ScoredMix:
        return self._scored(self.observation(rendering), self.scores(self.detector, rendering))

    def _from_pools(self, mix: FromPools) -> ScoredMix:
        rows = mix.mix.rows(len(mix.ind), len(mix.ood))
        mixed = replace(merged(mix.name, self.pool(mix.ind), self.pool(mix.ood), *rows), render=mix.render)
        return self._scored(mixed, self.mix_scores(self.detector, mix))

    def _scored(self, observed: Observation, scores: Scores) -> ScoredMix:
        if "moments" in self.needs:
            assert observed.features is not None
            observed = replace(observed, moments=Moments.of(observed.features))
        return ScoredMix(observed, self.detector, self.metric, scores)

    def _fitted(self, detector: str) -> Detector:
        return self._kept(("fitted", detector), lambda: self.detectors[detector].fit(self.plain_source))

    def _kept(self, key: tuple[str, str], make: Callable[[], Any]) -> Any:
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    @property
    def _rows(self) -> tuple[str, ...]:
        return tuple(need for need in _fields(self.needs, self.detectors) if need != "moments")

    @cached_property
    def _reference(self) -> str:
        sets, classifier = self.sets, self.observer.classifier
        return digest_of(classifier.digest, classifier.place, sets.reference.digest, sets.train_ref.digest)

    def _key(self, detector: str, rendering: Rendering) -> str:
        return digest_of(VERSION, repr(self.detectors[detector]), self._reference, rendering.digest)


def _fields(needs: tuple[str, ...], detectors: Mapping[str, Detector]) -> tuple[str, ...]:
    """Returns what is observed for methods and detectors; the moments of a mix are those of its features."""
    wanted = {*needs, *(need for detector in detectors.values() for need in detector.needs)}
    return tuple(sorted(wanted | ({"features"} if "moments" in needs else set())))


def detectors_of(competition: Competition) -> tuple[str, ...]:
    """Returns the names of a competition's detectors."""
    names = tuple(dict.fromkeys(TRACKS["ood"].split(subject)[1] for subject in competition.subjects))
    for name in names:
        if name not in DETECTORS:
            raise UnusableInput(
                f"{competition.root}: this release has no detector {name!r}; there are {', '.join(DETECTORS)}"
            )
    return names


def open_detectors(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> Mapping[str, DetectorSubject]:
    """Returns every subject of an OOD competition by name; those of a classifier share its memory."""
    sets, opened, subjects = MixSets(competition), {}, {}
    for name in competition.subjects:
        classifier = TRACKS["ood"].split(name)[0]
        if classifier not in opened:
            opened[classifier] = DetectorSubject.of_all(sets, classifier, needs, device)
        subjects[name] = replace(opened[classifier], name=name)
    return subjects


def merged(
    name: str, ind: Observation, ood: Observation, rows: NDArray[np.int64], is_ood: NDArray[np.bool_]
) -> Observation:
    """Returns the observation `name`: image i is row `rows[i]` of `ood` where `is_ood[i]`, else of `ind`."""

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
        referee_features=both("referee_features"),
    )


def check_detectors(settings: OodSettings, bare: Sequence[str]) -> None:
    """Refuse detectors that read features, for the classifiers in `bare`, which give logits alone."""
    unmet = [name for name in settings.detectors if FEATURE_NEEDS & set(DETECTORS[name].needs)]
    if bare and unmet:
        raise UnusableInput(
            f"--detector {', '.join(unmet)}: features are read, and the classifier {bare[0]} gives logits "
            f"alone; without features there are {', '.join(name for name in DETECTORS if name not in unmet)}"
        )


def measure(
    draft: Competition, settings: OodSettings, plan: Plan, labels: Labels, needs: tuple[str, ...], device: str
) -> Truth:
    """Returns every target, with its standard deviation over draws of images.

    Meta-train mixes are rows of their pools; the others are observed from their files, as methods do. The IND
    pools of these would reveal their IND images, so they are observed here and never sent to workers.
    """
    sets, targets = MixSets(draft), dict[str, dict[str, float]]()
    deviations: Values = {"val": {}, "test": {}}
    opened = {
        name: DetectorSubject.open(sets, name, settings.detectors, needs, device)
        for name in settings.classifier_names
    }
    for part in labels:
        truth: dict[str, float] = {}
        for subject in opened.values():
            scored = _scores_of(subject, plan, part)
            for name in (each for each in draft.subjects if TRACKS["ood"].split(each)[0] == subject.name):
                _, detector, metric = TRACKS["ood"].split(name)
                for set_name, values in labels[part].items():
                    key, is_ood = make_id(name, set_name), values.astype(bool)
                    found = scored[detector, ""], scored[detector, set_name], is_ood
                    truth[key] = true_metric(metric, settings.fpr, *found)
                    if part in deviations:
                        rng = NOISE_FLOOR(settings.seed, key)
                        deviations[part][key] = deviation(metric, settings.fpr, *found, rng)
        targets[part] = {key: truth[key] for key in draft.ids(part)}
    return Truth(targets, deviations)


def _scores_of(subject: DetectorSubject, plan: Plan, part: str) -> dict[tuple[str, str], Scores]:
    """Returns the scores of each mix by detector and name, those of the whole IND pool under the name ""."""
    whole = FromRecipe.whole(plan.bases[part])
    if part == "train":
        mixes = subject.sets.train
        used = {mix.ood.name: mix.ood for mix in mixes}
        subject.observe([whole, *map(FromRecipe.whole, used.values())])
        found = {
            (name, mix.name): subject.mix_scores(name, mix) for name in subject.detectors for mix in mixes
        }
    else:
        stored = subject.sets.stored(part)
        subject.observe([whole, *stored])
        found = {
            (name, each.name): subject.scores(name, each) for name in subject.detectors for each in stored
        }
    return found | {(name, ""): subject.scores(name, whole) for name in subject.detectors}
