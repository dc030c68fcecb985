"""Building a competition of the OOD track: mixes, true metrics, and how far chance moves these."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.build.cells import cell_pools, cells_of, grid_input, open_ruler
from starter.build.folder import (
    Claim,
    given_classifiers,
    hashes,
    licences,
    public_sets,
    remove_strays,
    write_bases,
    write_classifiers,
)
from starter.build.plan import Settings
from starter.build.settings import MixSettings
from starter.classifiers import Classifier
from starter.competition.accuracy import GROUPS_FILE, write_groups
from starter.competition.cluster import Cluster
from starter.competition.ood import MIXES_FILE, MixSets, Scores, View, picked, true_metric
from starter.images.arrays import write_npz
from starter.images.imageset import ImageSet
from starter.meaning.oodsets import load_class_sets
from starter.sets.mix import FromPools, Mix, draw_mixes, family, part_sets
from starter.sets.rendering import FromRecipe
from starter.shift.ruler import Ruler
from starter.sources.oodsets import gbench, load_ind_images, load_ood_sets, missing, without_shared
from starter.sources.sources import load_source
from starter.sources.splits import Splits
from submission import (
    Competition,
    SolutionRow,
    UnusableInput,
    make_id,
    write_predictions,
    write_sample,
    write_solution,
)
from submission.card import LICENCES
from submission.files import digest_of, write_text
from submission.random import MIXES, NOISE_FLOOR
from submission.scoring import NOISE
from submission.tracks import TRACKS

DRAWS = 32
"""Bootstrap draws behind the deviation of one target; a noise floor averages many targets."""
BUILD_NEEDS = ("features",)
"""Observed while building beside what detectors need: what costs no further forward pass."""
GROUPS = {"mostly-ood": 0.4, "balanced": 0.6, "mostly-ind": 1.0}
"""Groups of mixes by IND share: each reaches up to here."""

Values = dict[str, dict[str, float]]
"""A number of each part's ids."""


def build_mixes(
    claim: Claim, device: str, data_root: Path | None, cluster: Cluster | None = None
) -> Competition:
    """Build the competition of the OOD track that `claim` was made for; see `accuracy.build`."""
    settings, public = claim.settings, claim.root / "public"
    assert isinstance(settings, MixSettings)
    settings.check_files()
    splits = load_source(settings.source, data_root, settings.seed)
    given = given_classifiers(settings, splits, device)
    bases = _bases(settings, splits)
    ood, tested = _ood_sets(settings, splits, bases["test"])
    ruler = open_ruler(claim, splits, device) if settings.grid else None
    claim.check_inputs(_inputs(settings, splits, ood, given, bases["test"]) | grid_input(settings, ruler))
    parts = part_sets([name for name in ood if name not in tested], settings.seed, tested)
    pools = {part: Pools(part, base, ood, parts[part]) for part, base in bases.items()}
    if ruler:
        pools |= _cell_pools(claim, splits, ruler, pools)
    mixes = {part: pool.draw(settings, claim.test_seed) for part, pool in pools.items()}
    write_text(public / LICENCES, licences(settings))
    write_bases(public, splits, settings.seed)
    write_classifiers(public, given, splits, settings)
    for name in parts["train"]:
        write_npz(public / f"ood/{name}.npz", ood[name])
    write_text(public / MIXES_FILE, "".join(mix.mix.to_json() + "\n" for mix in mixes["train"]))
    for part in ("val", "test"):
        _write_mixes(public / part, mixes[part])
    write_groups(public / GROUPS_FILE, [_key(mix.mix, settings) for mix in mixes["val"]])
    draft = _draft(claim, settings, splits, parts["train"], mixes)
    truth, deviations = _measure(draft, settings, pools, mixes, device, cluster)
    for part in ("train", "val"):
        write_predictions(public / part / "targets.csv", truth[part], column="target")
    write_predictions(public / NOISE["val"], deviations["val"], column="deviation")
    write_sample(public / "sample_submission.csv", draft.ids("test"))
    _write_private(draft, claim, mixes["test"], truth["test"], deviations["test"])
    files = ("sample_submission.csv", "train/targets.csv", "val/targets.csv", NOISE["val"])
    competition = replace(draft, files={**draft.files, **hashes(public, files)})
    competition.save()
    return competition


@dataclass(frozen=True)
class Pools:
    """What the mixes of one part are drawn from.

    Attributes:
        part: "train", "val" or "test".
        ind: IND images without labels.
        ood: every OOD set.
        names: those of this part.
    """

    part: str
    ind: ImageSet
    ood: Mapping[str, ImageSet]
    names: Sequence[str]

    def draw(self, settings: MixSettings, test_seed: int) -> list[FromPools]:
        """The part's mixes; those of a test in a random order, so that a number tells nothing of a set."""
        seed = test_seed if self.part == "test" else settings.seed
        rng = MIXES(seed, self.part)
        counts = {"train": settings.train_sets, "val": settings.val_sets, "test": settings.test_sets}
        sizes = {name: len(self.ood[name]) for name in self.names}
        mixes = draw_mixes(counts[self.part], settings.mix_sizes, len(self.ind), sizes, rng, self.part)
        order = rng.permutation(len(mixes))
        mixes = [replace(mixes[old], name=mix.name) for mix, old in zip(mixes, order, strict=True)]
        return [FromPools(mix, self.ind, self.ood[mix.ood_set]) for mix in mixes]


def _cell_pools(claim: Claim, splits: Splits, ruler: Ruler, pools: Mapping[str, Pools]) -> dict[str, Pools]:
    """Validation and test pools with cells of shifted images in place of their OOD sets."""
    assert isinstance(claim.settings, MixSettings)
    size, seeds = claim.settings.mix_sizes.high, {"val": claim.settings.seed, "test": claim.test_seed}
    bases = {part: (pool.ind, {name: pool.ood[name] for name in pool.names}) for part, pool in pools.items()}
    cells = cells_of(claim, splits, ruler, bases, size)
    found = {part: cell_pools(*cells[part], size, seed) for part, seed in seeds.items()}
    return {part: Pools(part, pools[part].ind, sets, tuple(sets)) for part, sets in found.items()}


def _bases(settings: MixSettings, splits: Splits) -> dict[str, ImageSet]:
    """The IND images of each part, without labels."""
    bases = {"train": splits.meta_base, "val": splits.val_base, "test": splits.test_base}
    if settings.test_ind:
        bases["test"] = load_ind_images(settings.test_ind, splits.image_size)
        public = [splits.train, splits.reference, splits.meta_base, splits.val_base]
        if shared := bases["test"].shared(public):
            raise UnusableInput(
                f"--test-ind {settings.test_ind}: {max(shared.values())} of its {len(bases['test'])} images "
                "are public, in --source: take them out"
            )
    return {part: replace(base, name="ind", labels=None) for part, base in bases.items()}


def _ood_sets(
    settings: MixSettings, splits: Splits, test_ind: ImageSet
) -> tuple[dict[str, ImageSet], list[str]]:
    """The OOD sets without those left out, and without images that stand among IND images or in two sets; and
    the names of those that only the test may hold.
    """
    found = _read_ood_sets(settings, splits)
    absent = missing(found)
    if 2 * (len(gbench()) - len(absent)) >= len(found) and absent:
        names = ", ".join(each.name for each in absent)
        print(
            f"--ood {settings.ood}: of Gbench {len(absent)} data sets are missing: {names}", file=sys.stderr
        )
    tested: dict[str, ImageSet] = {}
    for path in settings.test_from:
        tested = load_ood_sets(
            path, splits.classes, splits.image_size, (), 2 * settings.mix_sizes.high, settings.seed
        )
        if both := sorted(found.keys() & tested):
            raise UnusableInput(f"--test-from {path}: --ood has a set {both[0]!r} too: rename one of them")
    every = splits.train, splits.reference, splits.meta_base, splits.val_base, splits.test_base, test_ind
    kept = without_shared({**found, **tested}, every)
    return kept, [name for name in tested if name in kept]


def _read_ood_sets(settings: MixSettings, splits: Splits) -> dict[str, ImageSet]:
    size, drawn = splits.image_size, (settings.exclude, 2 * settings.mix_sizes.high, settings.seed)
    if settings.classes:
        where, joined = (settings.classes, settings.images, size), settings.classes_per_set
        return load_class_sets(*where, settings.id_up_to, joined, *drawn)
    return load_ood_sets(settings.ood, splits.classes, size, *drawn)


def _inputs(
    settings: MixSettings,
    splits: Splits,
    ood: Mapping[str, ImageSet],
    given: Mapping[str, Classifier],
    test_ind: ImageSet,
) -> dict[str, str]:
    """A hash of everything that the build reads, by the option that named it."""
    parts = (splits.train, splits.reference, splits.meta_base, splits.val_base, splits.test_base)
    option = f"--classes {settings.classes}" if settings.classes else f"--ood {settings.ood}"
    option += "".join(f" or --test-from {path}" for path in settings.test_from)
    own = {f"--test-ind {settings.test_ind}": test_ind.digest} if settings.test_ind else {}
    return {
        **own,
        f"--source {settings.source}": digest_of(splits.classes, *(part.digest for part in parts)),
        option: digest_of(*((name, images.digest) for name, images in ood.items())),
        **{f"--classifier {name}": classifier.digest for name, classifier in given.items()},
    }


def _write_mixes(folder: Path, mixes: Sequence[FromPools]) -> None:
    """Write the images of each mix; a validation mix's labels tell OOD images (1) from the others (0)."""
    for mix in tqdm(mixes, desc=f"write {folder.name} mixes", unit="set"):
        labels = mix.labels() if folder.name == "val" else None
        write_npz(folder / f"{mix.name}.npz", ImageSet(mix.name, mix.images(), labels))


def _key(mix: Mix, settings: Settings) -> tuple[str, str, str]:
    """Name, group and family; those of a cell are its semantic level, as "s3", and itself."""
    if settings.grid:
        return mix.name, mix.ood_set.partition("c")[0], mix.ood_set
    share = mix.ind / len(mix)
    return mix.name, next(name for name, most in GROUPS.items() if share <= most), family(mix.ood_set)


def _draft(
    claim: Claim,
    settings: MixSettings,
    splits: Splits,
    train: Sequence[str],
    mixes: Mapping[str, Sequence[FromPools]],
) -> Competition:
    """The competition before its targets are known; its `files` are named one by one, never found."""
    files = ["base.npz", "reference.npz", "train_ref.npz", MIXES_FILE, GROUPS_FILE, LICENCES]
    files += [f"ood/{name}.npz" for name in train]
    files += [f"classifiers/{name}.safetensors" for name in settings.classifier_names]
    files += [f"{part}/{mix.name}.npz" for part in ("val", "test") for mix in mixes[part]]
    return Competition(
        root=claim.root,
        name=claim.root.resolve().name,
        track=settings.track,
        visibility="hidden" if settings.hidden else "practice",
        source=Path(settings.source).absolute().name,
        classes=splits.classes,
        image_size=splits.image_size,
        subjects=settings.subjects,
        sizes={part: {mix.name: len(mix) for mix in of} for part, of in mixes.items()},
        precision=settings.precision,
        seed=settings.seed,
        settings=settings.public(),
        **settings.rules(),
        files=hashes(claim.root / "public", files),
    )


def _measure(
    draft: Competition,
    settings: MixSettings,
    pools: Mapping[str, Pools],
    mixes: Mapping[str, Sequence[FromPools]],
    device: str,
    cluster: Cluster | None,
) -> tuple[Values, Values]:
    """Every target, and the standard deviation that chance gives it, by part and id.

    Meta-train mixes are rows of their pools; the others are observed from their files, as methods do. The
    IND pools of these tell what is IND in them: they are observed here, and no worker is given them.
    """
    if cluster:
        cluster.observe(draft, BUILD_NEEDS, tuple(pools), device)
        remove_strays(draft.root)
    sets, truth, deviations = MixSets(draft), {}, {}
    views = {
        name: View.open(sets, name, settings.detectors, BUILD_NEEDS, device)
        for name in settings.classifier_names
    }
    for part, pool in pools.items():
        truth[part], deviations[part] = dict[str, float](), dict[str, float]()
        for classifier, view in views.items():
            scored = _scored(view, sets, pool, mixes[part])
            for name in _of_classifier(draft, classifier):
                _, detector, metric = TRACKS["ood"].split(name)
                for mix in mixes[part]:
                    found = scored[detector, mix.name]
                    is_ood, key = mix.is_ood(), make_id(name, mix.name)
                    ind = scored[detector, ""]
                    truth[part][key] = true_metric(metric, settings.fpr, ind, found, is_ood)
                    if part != "train":
                        rng = NOISE_FLOOR(settings.seed, key)
                        deviations[part][key] = deviation(metric, settings.fpr, ind, found, is_ood, rng)
        truth[part] = {key: truth[part][key] for key in draft.ids(part)}
    return truth, deviations


def _of_classifier(draft: Competition, classifier: str) -> list[str]:
    return [name for name in draft.subjects if TRACKS["ood"].split(name)[0] == classifier]


def _scored(
    view: View, sets: MixSets, pool: Pools, mixes: Sequence[FromPools]
) -> dict[tuple[str, str], Scores]:
    """The scores of each mix by detector and name, those of the whole IND pool under the name ""."""
    whole = [FromRecipe.whole(pool.ind)]
    if pool.part == "train":
        used = {mix.ood.name: mix.ood for mix in mixes}
        view.observe(whole + [FromRecipe.whole(images) for images in used.values()])
        rows = {mix.name: mix.mix.rows(len(mix.ind), len(mix.ood)) for mix in mixes}
        found = {
            (detector, mix.name): picked(
                view.pool_scores(detector, mix.ind), view.pool_scores(detector, mix.ood), *rows[mix.name]
            )
            for detector in view.detectors
            for mix in mixes
        }
    else:
        stored = sets.stored(pool.part)
        view.observe([*whole, *stored])
        found = {(name, each.name): view.scores(name, each) for name in view.detectors for each in stored}
    return found | {(name, ""): view.scores(name, whole[0]) for name in view.detectors}


def deviation(
    metric: str, fpr: str, pool: Scores, scores: Scores, is_ood: NDArray[np.bool_], rng: np.random.Generator
) -> float:
    """The standard deviation of `true_metric` over bootstrap draws of the pool's and of the mix's images."""
    ind, ood = scores[~is_ood], scores[is_ood]
    values = []
    for _ in range(DRAWS):
        again = [each[rng.integers(len(each), size=len(each))] for each in (pool, ind, ood)]
        drawn = np.concatenate(again[1:])
        values.append(true_metric(metric, fpr, again[0], drawn, np.arange(len(drawn)) >= len(ind)))
    return float(np.std(values))


def _write_private(
    draft: Competition,
    claim: Claim,
    mixes: Sequence[FromPools],
    truth: Mapping[str, float],
    deviations: Mapping[str, float],
) -> None:
    """The solution, with each mix's usage, the targets' deviations, and how to make the mixes again."""
    keys = [_key(mix.mix, claim.settings) for mix in mixes]
    public = public_sets([(name, "ood", family) for name, _, family in keys], claim.test_seed)
    rows = [
        SolutionRow(
            id=make_id(subject, name),
            prediction=truth[make_id(subject, name)],
            usage="Public" if name in public else "Private",
            subject=subject,
            set=name,
            group=group,
        )
        for subject in draft.subjects
        for name, group, _ in keys
    ]
    write_solution(draft.private / "solution.csv", rows)
    noise = draft.root / NOISE["test"]
    write_predictions(noise, deviations, column="deviation")
    noise.chmod(0o600)
    record = [
        {"recipe": mix.mix.to_json(), "group": group, "family": source}
        for mix, (_, group, source) in zip(mixes, keys, strict=True)
    ]
    claim.record(test=record)
