"""The subjects of the OOD track: metrics of detectors, with meta-train mixes and the mixes to predict."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from starter.competition.mixes import MixSets, merged, moments_of
from starter.competition.scorer import Scorer, Scores
from starter.observing.lazy import Lazy
from starter.observing.observation import MetaTrain, Observation, ScoredMix, Source
from starter.sets.mix import POOL, FromPools, family, picked
from starter.sets.rendering import FromRecipe, Rendering
from submission import Competition
from submission.scoring import read_targets
from submission.tracks import TRACKS


@dataclass(frozen=True)
class DetectorSubject:
    """One metric of one detector on one classifier.

    Attributes:
        name: Name of the subject, ``<classifier>:<detector>:<metric>``.
        sets: Images of the competition.
        scorer: Scorer of the classifier, shared by all its subjects.
    """

    name: str
    sets: MixSets
    scorer: Scorer

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
        return replace(self.scorer.source, scores=self.scorer.scores(self.detector, reference))

    def meta_train(self, progress: bool = True) -> MetaTrain:
        """Returns the meta-train mixes with their targets.

        Every pool is observed once; a mix consists of rows of two pools.
        """
        renderings = self.sets.train
        pools = {pool.name: pool for mix in renderings for pool in (mix.ind, mix.ood)}
        self.scorer.observe([FromRecipe.whole(pool) for pool in pools.values()], progress)
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
        """Returns the observed and scored mixes of `part`, "val" or "test"."""
        renderings = self.sets.stored(part)
        self.scorer.observe(renderings, progress)
        return Lazy(renderings, self._from_file)

    def _from_file(self, rendering: Rendering) -> ScoredMix:
        observed = self.scorer.observation(rendering)
        return self._scored(observed, self.scorer.scores(self.detector, rendering))

    def _from_pools(self, rendering: FromPools) -> ScoredMix:
        pools, scorer = (rendering.ind, rendering.ood), self.scorer
        rows = rendering.mix.rows(len(rendering.ind), len(rendering.ood))
        ind, ood = (scorer.pool(pool) for pool in pools)
        scores = [scorer.pool_scores(self.detector, pool) for pool in pools]
        mixed = replace(merged(rendering.name, ind, ood, *rows), render=rendering.render)
        return self._scored(mixed, picked(scores[0], scores[1], *rows))

    def _scored(self, observed: Observation, scores: Scores) -> ScoredMix:
        if "moments" in self.scorer.needs:
            observed = replace(observed, moments=moments_of(observed))
        return ScoredMix(observed, self.detector, self.metric, scores)


def open_detectors(
    competition: Competition, needs: tuple[str, ...], device: str = "cpu"
) -> dict[str, DetectorSubject]:
    """Returns every subject of an OOD competition by name, in order; those of a classifier share a scorer.

    Raises:
        UnusableInput: see `View.open`; or a detector is unknown to this release.
    """
    sets, scorers, subjects = MixSets(competition), {}, {}
    for subject in competition.subjects:
        classifier = TRACKS["ood"].split(subject)[0]
        if classifier not in scorers:
            scorers[classifier] = Scorer.of_all(sets, classifier, needs, device)
        subjects[subject] = DetectorSubject(subject, sets, scorers[classifier])
    return subjects
