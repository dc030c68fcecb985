"""The sets of a competition of the OOD track: their plan, files, targets and sampling noise."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from starter.build.cells import grid_input, open_ruler
from starter.build.draft import Key, Truth, Values
from starter.build.folder import Claim
from starter.build.mixes import Sizes
from starter.build.pools import Pools, images_of, ind_bases, ood_sets, with_cells
from starter.build.room import fit
from starter.build.settings import OodPlan, Settings
from starter.classifiers import Classifier
from starter.competition.cluster import Cluster
from starter.competition.mixes import MIXES_FILE, MixSets
from starter.competition.scorer import Scorer, Scores
from starter.detectors import DETECTORS
from starter.detectors.metrics import deviation, true_metric
from starter.images.arrays import write_npz
from starter.images.imageset import ImageSet
from starter.observing.observation import FEATURE_NEEDS
from starter.sets.mix import FromPools, Mix, family, picked
from starter.sets.rendering import FromRecipe
from starter.sources.splits import Splits
from submission import Competition, UnusableInput, make_id
from submission.files import digest_of, sweep, write_text
from submission.random import NOISE_FLOOR
from submission.tracks import TRACKS

BUILD_NEEDS = ("features",)
"""Fields observed while building, in addition to detectors' needs; they cost no further forward pass."""
GROUPS = {"mostly-ood": 0.4, "balanced": 0.6, "mostly-ind": 1.0}
"""Groups of mixes by IND share, with the upper limit of each."""


def plan_mixes(plan: OodPlan, claim: Claim, splits: Splits, device: str) -> "MixedSets":
    """Plan the mixes of every part.

    Raises:
        UnusableInput: images cannot be read or are public, families or images are too few.
    """
    settings = claim.settings
    bases = ind_bases(settings, plan, splits)
    ood, parts = ood_sets(settings, plan, splits, bases["test"])
    ruler = open_ruler(claim, splits, device) if settings.grid else None
    pools = {part: Pools(part, base, ood, parts[part]) for part, base in bases.items()}
    inputs = _inputs(settings, plan, ood, bases["test"]) | grid_input(settings, ruler)
    if ruler:
        pools |= with_cells(plan, claim, splits, ruler, pools)
    room = fit(settings, plan, images_of(pools))
    if (room.count, room.sizes) != (settings.test_sets, plan.mix_sizes(settings.set_size)):
        print(f"the test's defaults are cut to the images that there are:\n{room}", file=sys.stderr)
    mixes = {part: pool.draw(settings, room, claim.test_seed) for part, pool in pools.items()}
    shown = {name: ood[name] for name in parts["train"]}
    return MixedSets(settings, plan, pools, mixes, shown, inputs, room.sizes)


def check_detectors(settings: Settings, given: Mapping[str, Classifier]) -> None:
    """Refuse detectors that read features, for classifiers that give logits only.

    Raises:
        UnusableInput: there is such a pair; the message names both.
    """
    if not isinstance(settings.plan, OodPlan):
        return
    bare = [name for name, classifier in given.items() if classifier.logits_alone]
    unmet = [name for name in settings.plan.detectors if FEATURE_NEEDS & set(DETECTORS[name].needs)]
    if bare and unmet:
        raise UnusableInput(
            f"--detector {', '.join(unmet)}: features are read, and the classifier {bare[0]} gives logits "
            f"alone; without features there are {', '.join(name for name in DETECTORS if name not in unmet)}"
        )


@dataclass(frozen=True)
class MixedSets:
    """The mixes of each part; see `draft.Plans`.

    Attributes:
        settings, plan: Settings of the build, and those of the track.
        pools: Pools of images by part.
        mixes: Mixes by part.
        shown: OOD sets of the meta-train mixes, which participants get.
        inputs: Hashes of the inputs, by option.
        drawn: Sizes of the mixes.
    """

    settings: Settings
    plan: OodPlan
    pools: Mapping[str, Pools]
    mixes: Mapping[str, Sequence[FromPools]]
    shown: Mapping[str, ImageSet]
    inputs: Mapping[str, str]
    drawn: Sizes

    @property
    def told(self) -> dict[str, object]:
        """Public settings of the competition that follow from the plan, plain JSON values."""
        return {"sizes": [self.drawn.low, self.drawn.high]}

    @property
    def seen(self) -> list[str]:
        """The public files that `measure` writes."""
        return []

    @property
    def files(self) -> list[str]:
        """The public files that `write` writes."""
        return [MIXES_FILE, *(f"ood/{name}.npz" for name in self.shown)]

    @property
    def sizes(self) -> dict[str, dict[str, int]]:
        """The number of images of each set, by part and name."""
        return {part: {mix.name: len(mix) for mix in of} for part, of in self.mixes.items()}

    def write(self, public: Path) -> None:
        """Write the sets, those of the test without labels."""
        for name, images in self.shown.items():
            write_npz(public / f"ood/{name}.npz", images)
        write_text(public / MIXES_FILE, "".join(mix.mix.to_json() + "\n" for mix in self.mixes["train"]))
        for part in ("val", "test"):
            _write_mixes(public / part, self.mixes[part])

    def measure(self, draft: Competition, device: str, cluster: Cluster | None) -> Truth:
        """Returns every target, with its standard deviation over draws of images.

        Meta-train mixes are rows of their pools; the others are observed from their files, as methods do. The
        IND pools of these would reveal their IND images, so they are observed here and never sent to workers.
        """
        needs = () if draft.logits_alone else BUILD_NEEDS
        if cluster:
            cluster.observe(draft, needs, tuple(self.pools), device)
            sweep(draft.root, age=0)
        sets = MixSets(draft)
        scorers = {
            name: Scorer.open(sets, name, self.plan.detectors, needs, device)
            for name in self.settings.classifier_names
        }
        targets: Values = {}
        deviations: Values = {"val": {}, "test": {}}
        for part, pool in self.pools.items():
            truth: dict[str, float] = {}
            for classifier, scorer in scorers.items():
                scored = _scored(scorer, sets, pool, self.mixes[part])
                for subject in _of_classifier(draft, classifier):
                    self._measure(subject, part, scored, truth, deviations.get(part))
            targets[part] = {key: truth[key] for key in draft.ids(part)}
        return Truth(targets, deviations)

    def _measure(
        self,
        subject: str,
        part: str,
        scored: Mapping[tuple[str, str], Scores],
        truth: dict[str, float],
        deviations: dict[str, float] | None,
    ) -> None:
        """Put a subject's metric on each mix of a part into `truth`, and its deviation into `deviations`."""
        _, detector, metric = TRACKS["ood"].split(subject)
        ind, fpr = scored[detector, ""], self.plan.fpr
        for mix in self.mixes[part]:
            found, is_ood, key = scored[detector, mix.name], mix.is_ood(), make_id(subject, mix.name)
            truth[key] = true_metric(metric, fpr, ind, found, is_ood)
            if deviations is not None:
                rng = NOISE_FLOOR(self.settings.seed, key)
                deviations[key] = deviation(metric, fpr, ind, found, is_ood, rng)

    def keys(self, part: str) -> list[Key]:
        """Returns the keys of the sets of "val" or "test"."""
        return [_key(mix.mix, self.settings.grid) for mix in self.mixes[part]]

    def divided(self) -> list[Key]:
        """Returns the keys by which test sets are divided: families, without groups."""
        return [(name, "ood", family) for name, _, family in self.keys("test")]

    def record(self) -> list[dict[str, object]]:
        """Returns the data to make the test sets again, plain JSON values."""
        pairs = zip(self.mixes["test"], self.keys("test"), strict=True)
        return [
            {"recipe": mix.mix.to_json(), "group": group, "family": source}
            for mix, (_, group, source) in pairs
        ]


def _inputs(
    settings: Settings, plan: OodPlan, ood: Mapping[str, ImageSet], test_ind: ImageSet
) -> dict[str, str]:
    """Returns hashes of the OOD sets and of the test's own IND images, by option."""
    option = f"--classes {plan.classes}" if plan.classes else f"--ood {plan.ood}"
    option += "".join(f" or --test-from {path}" for path in settings.test_from)
    own = {f"--test-ind {plan.test_ind}": test_ind.digest} if plan.test_ind else {}
    return {**own, option: digest_of(*((name, images.digest) for name, images in ood.items()))}


def _write_mixes(folder: Path, mixes: Sequence[FromPools]) -> None:
    """Write the images of each mix; the labels of a validation mix are 1 for OOD images, 0 for IND."""
    for mix in tqdm(mixes, desc=f"write {folder.name} mixes", unit="set"):
        labels = mix.labels() if folder.name == "val" else None
        write_npz(folder / f"{mix.name}.npz", ImageSet(mix.name, mix.render(), labels))


def _key(mix: Mix, grid: str) -> tuple[str, str, str]:
    """Returns name, group and family; for a cell, its name, semantic level such as "s3", and itself."""
    if grid:
        return mix.name, mix.ood_set.partition("c")[0], mix.ood_set
    share = mix.ind / len(mix)
    return mix.name, next(name for name, most in GROUPS.items() if share <= most), family(mix.ood_set)


def _of_classifier(draft: Competition, classifier: str) -> list[str]:
    return [name for name in draft.subjects if TRACKS["ood"].split(name)[0] == classifier]


def _scored(
    scorer: Scorer, sets: MixSets, pool: Pools, mixes: Sequence[FromPools]
) -> dict[tuple[str, str], Scores]:
    """Returns the scores of each mix by detector and name, those of the whole IND pool under the name ""."""
    whole = [FromRecipe.whole(pool.ind)]
    if pool.part == "train":
        used = {mix.ood.name: mix.ood for mix in mixes}
        scorer.observe(whole + [FromRecipe.whole(images) for images in used.values()])
        rows = {mix.name: mix.mix.rows(len(mix.ind), len(mix.ood)) for mix in mixes}
        found = {
            (detector, mix.name): picked(
                scorer.pool_scores(detector, mix.ind), scorer.pool_scores(detector, mix.ood), *rows[mix.name]
            )
            for detector in scorer.detectors
            for mix in mixes
        }
    else:
        stored = sets.stored(pool.part)
        scorer.observe([*whole, *stored])
        found = {(name, each.name): scorer.scores(name, each) for name in scorer.detectors for each in stored}
    return found | {(name, ""): scorer.scores(name, whole[0]) for name in scorer.detectors}
