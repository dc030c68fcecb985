"""The sets of a competition of the OOD track: their plan, files, targets and sampling noise."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from starter.build.cells import apart, cell_pools, cells_of, grid_input, open_ruler
from starter.build.draft import Key, Truth, Values
from starter.build.folder import Claim
from starter.build.mixes import Sizes, draw_apart, draw_mixes, part_sets
from starter.build.room import Images, Room, count_ood, fit, kept_most, read_most
from starter.build.settings import OodPlan, Settings
from starter.classifiers import Classifier
from starter.competition.cluster import Cluster
from starter.competition.mixes import MIXES_FILE, MixSets
from starter.competition.scorer import Scorer, Scores
from starter.detectors import DETECTORS
from starter.detectors.metrics import deviation, true_metric
from starter.images.arrays import write_npz
from starter.images.imageset import ImageSet
from starter.meaning.oodsets import load_class_sets
from starter.observing.observation import FEATURE_NEEDS
from starter.sets.mix import FromPools, Mix, family, picked
from starter.sets.rendering import FromRecipe
from starter.shift.ruler import Ruler
from starter.sources.oodsets import gbench, load_ind_images, load_ood_sets, missing, without_shared
from starter.sources.splits import Splits
from submission import Competition, UnusableInput, make_id
from submission.files import digest_of, sweep, write_text
from submission.random import GRID_HALVES, MIXES, NOISE_FLOOR, OOD_IMAGES
from submission.tracks import TRACKS

BUILD_NEEDS = ("features",)
"""Fields observed while building, in addition to detectors' needs; they cost no further forward pass."""
GROUPS = {"mostly-ood": 0.4, "balanced": 0.6, "mostly-ind": 1.0}
"""Groups of mixes by IND share, with the upper limit of each."""
SHIFTED = 0.25
"""Fraction of the test's IND images from which a grid's cells are made."""


def plan_mixes(plan: OodPlan, claim: Claim, splits: Splits, device: str) -> "MixedSets":
    """Plan the mixes of every part.

    Raises:
        UnusableInput: images cannot be read or are public, families or images are too few.
    """
    settings = claim.settings
    bases = _bases(settings, plan, splits)
    ood, parts = _ood_sets(settings, plan, splits, bases["test"])
    ruler = open_ruler(claim, splits, device) if settings.grid else None
    pools = {part: Pools(part, base, ood, parts[part]) for part, base in bases.items()}
    inputs = _inputs(settings, plan, ood, bases["test"]) | grid_input(settings, ruler)
    if ruler:
        pools |= _cell_pools(plan, claim, splits, ruler, pools)
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
    pools: "Mapping[str, Pools]"
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
        scored: "Mapping[tuple[str, str], Scores]",
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


@dataclass(frozen=True)
class Pools:
    """The pools of images from which the mixes of one part are drawn.

    Attributes:
        part: Name of the part, "train", "val" or "test".
        ind: IND images without labels.
        ood: Every OOD set, by name.
        names: Names of this part's OOD sets.
    """

    part: str
    ind: ImageSet
    ood: Mapping[str, ImageSet]
    names: Sequence[str]

    def draw(self, settings: Settings, room: Room, test_seed: int) -> list[FromPools]:
        """Returns the part's mixes in random order, so their numbers reveal nothing.

        The mixes of a test share no image: each draws from separate images.
        """
        seed = test_seed if self.part == "test" else settings.seed
        rng = MIXES(seed, self.part)
        pools = {name: len(self.ood[name]) for name in self.names}
        if self.part == "test":
            mixes = draw_apart(room.count, room.sizes, len(self.ind), pools, rng, self.part)
        else:
            count = {"train": settings.train_sets, "val": settings.val_sets}[self.part]
            mixes = draw_mixes(count, room.sizes, pools, rng, self.part)
        order = rng.permutation(len(mixes))
        mixes = [replace(mixes[old], name=mix.name) for mix, old in zip(mixes, order, strict=True)]
        if self.part == "test":
            return self._apart(mixes, rng)
        return [FromPools(mix, self.ind, self.ood[mix.ood_set]) for mix in mixes]

    def _apart(self, mixes: Sequence[Mix], rng: np.random.Generator) -> list[FromPools]:
        """Returns the mixes, each with a separate part of the pools, of the size that it draws."""
        ind = rng.permutation(len(self.ind))
        ood = {name: rng.permutation(len(self.ood[name])) for name in self.names}
        found = []
        for mix in mixes:
            rows, ind = ind[: mix.ind], ind[mix.ind :]
            others, ood[mix.ood_set] = ood[mix.ood_set][: mix.ood], ood[mix.ood_set][mix.ood :]
            found.append(FromPools(mix, self.ind.take(rows), self.ood[mix.ood_set].take(others)))
        return found


def images_of(pools: Mapping[str, Pools]) -> Images:
    """Returns the numbers of images in the parts' pools."""
    ood = {part: {name: len(pool.ood[name]) for name in pool.names} for part, pool in pools.items()}
    return Images({part: len(pool.ind) for part, pool in pools.items()}, ood)


def _cell_pools(
    plan: OodPlan, claim: Claim, splits: Splits, ruler: Ruler, pools: Mapping[str, Pools]
) -> dict[str, Pools]:
    """Returns validation and test pools with cells of shifted images instead of their OOD sets.

    In the test, a quarter of the IND images is shifted, and no image is in two cells under different shifts.
    """
    settings, seeds = claim.settings, {"val": claim.settings.seed, "test": claim.test_seed}
    size, most = plan.largest(settings.set_size), plan.mix_sizes(settings.set_size).most[1]
    whole = pools["test"].ind
    rows = np.split(GRID_HALVES(claim.test_seed).permutation(len(whole)), [round(SHIFTED * len(whole))])
    shifted, kept = (whole.take(np.sort(each)) for each in rows)
    bases = {part: (pool.ind, {name: pool.ood[name] for name in pool.names}) for part, pool in pools.items()}
    bases["test"] = shifted, bases["test"][1]
    cells = cells_of(claim, splits, ruler, bases, size)
    val = cell_pools(*cells["val"], size, seeds["val"])
    test = apart(*cells["test"], size, most, seeds["test"])
    return {
        "val": Pools("val", pools["val"].ind, val, tuple(val)),
        "test": Pools("test", kept, test, tuple(test)),
    }


def _bases(settings: Settings, plan: OodPlan, splits: Splits) -> dict[str, ImageSet]:
    """Returns the IND images of each part, without labels."""
    bases = {"train": splits.meta_base, "val": splits.val_base, "test": splits.test_base}
    if plan.test_ind:
        bases["test"] = load_ind_images(plan.test_ind, settings.fit(splits.image_size))
        public = [splits.train, splits.reference, splits.meta_base, splits.val_base]
        if shared := bases["test"].shared(public):
            raise UnusableInput(
                f"--test-ind {plan.test_ind}: {max(shared.values())} of its {len(bases['test'])} images "
                "are public, in --source: take them out"
            )
    bases["test"] = _once(bases["test"], (splits.train, splits.reference, splits.meta_base, splits.val_base))
    return {part: replace(base, name="ind", labels=None) for part, base in bases.items()}


def _once(images: ImageSet, public: Sequence[ImageSet]) -> ImageSet:
    """Returns the images without public ones and without duplicates."""
    found = without_shared({"IND images of the test": images}, public)
    if not found:
        raise UnusableInput("every IND image of the test is public, in --source: give others")
    return found["IND images of the test"]


def _ood_sets(
    settings: Settings, plan: OodPlan, splits: Splits, test_ind: ImageSet
) -> tuple[dict[str, ImageSet], dict[str, list[str]]]:
    """Returns the OOD sets by name, and the names of each part's sets.

    Sets excluded by the settings are omitted, and so are images that are also IND or in another set.
    """
    counts = count_ood(settings, plan, splits.classes)
    most = read_most(settings, plan, len(counts["test"]))
    found = _read_ood_sets(settings, plan, splits, most)
    absent = missing(found)
    if 2 * (len(gbench()) - len(absent)) >= len(found) and absent:
        names = ", ".join(each.name for each in absent)
        print(f"--ood {plan.ood}: of Gbench {len(absent)} data sets are missing: {names}", file=sys.stderr)
    tested: dict[str, ImageSet] = {}
    for path in settings.test_from:
        tested = load_ood_sets(path, splits.classes, settings.fit(splits.image_size), (), most, settings.seed)
    every = splits.train, splits.reference, splits.meta_base, splits.val_base, splits.test_base, test_ind
    kept = without_shared({**found, **tested}, every)
    shown = [name for name in kept if name not in tested]
    parts = part_sets(shown, settings.seed, [name for name in tested if name in kept])
    for name in (*parts["train"], *parts["val"]):
        kept[name] = _drawn(kept[name], kept_most(settings, plan), settings.seed)
    return kept, parts


def _drawn(images: ImageSet, most: int, seed: int) -> ImageSet:
    """Returns `most` of the images, drawn at random, in their order; all if they are fewer."""
    if len(images) <= most:
        return images
    return images.take(np.sort(OOD_IMAGES(seed, images.name).permutation(len(images))[:most]))


def _read_ood_sets(settings: Settings, plan: OodPlan, splits: Splits, most: int) -> dict[str, ImageSet]:
    size, drawn = splits.image_size, (plan.exclude, most, settings.seed)
    if plan.classes:
        where, joined = (plan.classes, plan.images, size), plan.classes_per_set
        return load_class_sets(*where, plan.id_up_to, joined, *drawn)
    return load_ood_sets(plan.ood, splits.classes, settings.fit(size), *drawn)


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
