"""The plan of mixes: the OOD sets of each part, the sizes of mixes, and the images that they are drawn from.

No image is in two mixes of a test, since that would reveal that it is IND; and a lack of images never narrows
the range of IND shares, since the target would be nearly known. So too few images are an error.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from starter.contest.ood.settings import ANY, OodSettings
from starter.contest.plan import Look, Plan, PlannedSet
from starter.data.images.imageset import ImageSet
from starter.data.sets.mix import LEAST, FromPools, Mix, family
from starter.data.sources.oodsets import load_ind_images, load_ood_sets, ood_set_names, without_shared
from starter.data.sources.splits import Splits
from starter.data.wordnet.images import class_sets, load_class_sets
from submission import UnusableInput
from submission.files import digest_of
from submission.random import MIXES, OOD_FAMILIES, OOD_IMAGES

MIXES_FILE = "train/mixes.jsonl"
GROUPS = {"mostly-ood": 0.4, "balanced": 0.6, "mostly-ind": 1.0}
"""Groups of mixes by IND share, with the upper limit of each."""
LEAST_FAMILIES = 5
KEPT = 1000
"""Number of images of an OOD set for labelled mixes, if it is more than twice those of the largest mix."""
_MARGIN = 3.0
"""Margin for the number of IND images in all mixes, in its standard deviations."""
_DRAWS = 1000
_STEPS = 1000

Counts = Mapping[str, int]
"""Number of images of each OOD set, by name."""


def plan_mixes(settings: OodSettings, splits: Splits, test_seed: int, look: Look | None) -> Plan:
    """Plan the mixes of every part; no network looks at images for it."""
    bases = ind_bases(settings, splits)
    ood, parts = ood_sets(settings, splits, bases["test"])
    check_images(
        settings,
        {part: len(base) for part, base in bases.items()},
        {part: {name: len(ood[name]) for name in names} for part, names in parts.items()},
    )
    mixes = {
        part: _draw_part(settings, part, ind=ind, ood=ood, names=parts[part], test_seed=test_seed)
        for part, ind in bases.items()
    }
    drawn = {mix.name: mix for part in ("val", "test") for mix in mixes[part]}
    shown = {name: ood[name] for name in parts["train"]}
    lines = "".join(mix.mix.to_json() + "\n" for mix in mixes["train"])
    return Plan(
        train=mixes["train"],
        sets={part: [_planned(each.mix) for each in mixes[part]] for part in ("val", "test")},
        bases=bases,
        render=lambda part, planned: drawn[planned.recipe.name].labelled(),
        inputs=_inputs(settings, ood, bases["test"]),
        files={MIXES_FILE: lines, **{f"ood/{name}.npz": images for name, images in shown.items()}},
    )


def _planned(mix: Mix) -> PlannedSet:
    share = mix.ind / len(mix)
    group = next(name for name, most in GROUPS.items() if share <= most)
    return PlannedSet(mix, group, family(mix.ood_set))


def _inputs(settings: OodSettings, ood: Mapping[str, ImageSet], test_ind: ImageSet) -> dict[str, str]:
    """Returns hashes of the OOD sets and of the test's own IND images, by option."""
    option = f"--classes {settings.classes}" if settings.classes else f"--ood {settings.ood}"
    option += "".join(f" or --test-from {path}" for path in settings.test_from)
    own = {f"--test-ind {settings.test_ind}": test_ind.digest} if settings.test_ind else {}
    return {**own, option: digest_of(*((name, images.digest) for name, images in ood.items()))}


def most_images(settings: OodSettings) -> tuple[int, int]:
    """Returns the largest numbers of IND and of OOD images in a mix."""
    high = settings.mix_sizes[1]
    if settings.ratio == ANY:
        return high, high
    low_share, high_share = _shares(settings, high)
    return round(high * high_share), high - round(high * low_share)


def _shares(settings: OodSettings, n: int) -> tuple[float, float]:
    """Returns the smallest and the largest IND share of a mix of `n` images."""
    low, high = settings.shares
    return max(min(low, 1 - LEAST / n), LEAST / n), min(max(high, LEAST / n), 1 - LEAST / n)


def draw_counts(settings: OodSettings, rng: Generator) -> tuple[int, int]:
    """Returns the numbers of IND and OOD images of a mix, each >= `LEAST`, independent of the pools."""
    low, high = settings.mix_sizes
    n = int(rng.integers(low, high, endpoint=True))
    if settings.ratio == ANY:
        return n, int(rng.integers(low, high, endpoint=True))
    ind = int(np.clip(round(n * rng.uniform(*_shares(settings, n))), LEAST, n - LEAST))
    return ind, n - ind


def ind_needed(settings: OodSettings, count: int) -> int:
    """Returns how many IND images `count` mixes without common images need, in 999 of 1,000 draws."""
    low, high = settings.mix_sizes
    sizes = np.unique(np.linspace(low, high, _STEPS).round())
    shares = [[1, 1] if settings.ratio == ANY else _shares(settings, int(n)) for n in sizes]
    least, most = np.array(shares).T
    mean = np.mean(sizes * (least + most) / 2)
    square = np.mean(sizes**2 * ((least + most) ** 2 / 4 + (most - least) ** 2 / 12))
    spread = np.sqrt(max(count * (square - mean**2), 0))
    return min(count * most_images(settings)[0], int(np.ceil(count * mean + _MARGIN * spread)))


def _draw_part(
    settings: OodSettings,
    part: str,
    ind: ImageSet,
    ood: Mapping[str, ImageSet],
    names: Sequence[str],
    test_seed: int,
) -> list[FromPools]:
    """Returns a part's mixes in random order, so numbers reveal nothing; those of a test share no image."""
    rng = MIXES(test_seed if part == "test" else settings.seed, part)
    pools = {name: len(ood[name]) for name in names}
    if part == "test":
        mixes = draw_apart(settings, len(ind), pools, rng)
    else:
        mixes = draw_mixes(settings, part, pools, rng)
    order = rng.permutation(len(mixes))
    mixes = [replace(mixes[old], name=mix.name) for mix, old in zip(mixes, order, strict=True)]
    if part != "test":
        return [FromPools(mix, ind, ood[mix.ood_set]) for mix in mixes]
    left = rng.permutation(len(ind))
    others = {name: rng.permutation(len(ood[name])) for name in names}
    found = []
    for mix in mixes:
        rows = left[: mix.ind]
        left = left[mix.ind :]
        chosen = others[mix.ood_set][: mix.ood]
        others[mix.ood_set] = others[mix.ood_set][mix.ood :]
        found.append(FromPools(mix, ind.take(rows), ood[mix.ood_set].take(chosen)))
    return found


def draw_mixes(settings: OodSettings, part: str, pools: Counts, rng: Generator) -> list[Mix]:
    """Returns the mixes of "train" or "val", which may share images, with all OOD sets equally often."""
    count = settings.sets(part)
    names: list[str] = []
    while len(names) < count:
        names += rng.permutation(sorted(pools)).tolist()
    return [_mix(settings, part, number, name, rng) for number, name in enumerate(names[:count], start=1)]


def draw_apart(settings: OodSettings, ind: int, pools: Counts, rng: Generator) -> list[Mix]:
    """Returns the test's mixes, for which images can be drawn without sharing any; see `check_images`."""
    count = settings.test_sets
    most = most_images(settings)[1]
    names: list[str] = []
    for used in range(max(pools.values(), default=0) // most):
        if len(names) < count:
            names += rng.permutation([name for name in sorted(pools) if pools[name] // most > used]).tolist()
    for _ in range(_DRAWS if len(names) >= count else 0):
        mixes = [_mix(settings, "test", i, name, rng) for i, name in enumerate(names[:count], start=1)]
        if sum(mix.ind for mix in mixes) <= ind:
            return mixes
    raise ValueError(f"{count} mixes cannot be drawn from {ind} IND and {dict(pools)} OOD images")


def _mix(settings: OodSettings, part: str, number: int, ood_set: str, rng: Generator) -> Mix:
    ind, ood = draw_counts(settings, rng)
    return Mix(f"{part}_{number:04d}", int(rng.integers(2**63)), ood_set, ind, ood)


def check_images(settings: OodSettings, ind: Counts, ood: Mapping[str, Counts]) -> None:
    """Refuse numbers of IND images, by part, and of OOD images, by part and set, that are too small."""
    size = "--sizes" if settings.sizes else "--set-size"
    high = settings.mix_sizes[1]
    most_ind, most_ood = most_images(settings)
    for part in (part for part in ood if settings.sets(part)):
        pools = {f"OOD set {name!r} of the {part} part": (pool, most_ood) for name, pool in ood[part].items()}
        for name, (pool, most) in {f"the {part} part": (ind[part], most_ind), **pools}.items():
            if pool < most:
                raise UnusableInput(
                    f"{name} has {pool:,} images to draw from, and a mix of {high} has up to {most} of them: "
                    f"ask for smaller mixes ({size}), join more classes in a set (--classes-per-set), or "
                    "leave the set out (--exclude)"
                )
    count = settings.test_sets
    places = sum(pool // most_ood for pool in ood["test"].values())
    enough = [n for n in range(1, count + 1) if ind_needed(settings, n) <= ind["test"] and n <= places]
    if len(enough) < count:
        fewer = f"--test-sets {len(enough)}, or " if len(enough) > 1 else ""
        raise UnusableInput(
            f"{count} test mixes of {high} images, no image in two of them, need "
            f"{ind_needed(settings, count):,} IND images and {most_ood} images of an OOD set each; there are "
            f"{ind['test']:,} IND images, and OOD images for {places} mixes: ask for {fewer}a smaller "
            f"{size}, or give more images"
        )


def split_families(names: Sequence[str], seed: int) -> dict[str, list[str]]:
    """Returns OOD sets by part: a tenth of the families in "val", three in "test", the largest in "train"."""
    members: dict[str, list[str]] = {}
    for name in sorted(names):
        members.setdefault(family(name), []).append(name)
    if len(members) < LEAST_FAMILIES:
        raise UnusableInput(
            f"OOD sets of {len(members)} families ({', '.join(members)}), {LEAST_FAMILIES} are needed; a "
            "family is a set's name up to the first underscore"
        )
    largest = max(members, key=lambda name: len(members[name]))
    others = [name for name in members if name != largest]
    order = OOD_FAMILIES(seed).permutation(others).tolist()
    val, test = max(1, round(0.1 * len(members))), max(2, round(0.3 * len(members)))
    chosen = {"train": [largest, *order[val + test :]], "val": order[:val], "test": order[val : val + test]}
    return {part: sorted(name for each in chosen[part] for name in members[each]) for part in chosen}


def part_sets(names: Sequence[str], seed: int, tested: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns OOD sets by part, split by families; sets for the test only leave its share to "train"."""
    parts = split_families(names, seed)
    if not tested:
        return parts
    shown = {family(name): name for name in names}
    for name in tested:
        if family(name) in shown:
            raise UnusableInput(
                f"--test-from: set {name!r} is of the family {family(name)!r}, as {shown[family(name)]!r} of "
                "--ood: rename one of them, or leave one out"
            )
    if len({family(name) for name in tested}) < 2:
        raise UnusableInput(
            f"--test-from has one family of OOD sets ({family(tested[0])}), two are needed: one for the "
            "public score, one for the private"
        )
    return {"train": sorted(parts["train"] + parts["test"]), "val": parts["val"], "test": sorted(tested)}


def ind_bases(settings: OodSettings, splits: Splits) -> dict[str, ImageSet]:
    """Returns the IND images of each part, without labels; no image of the test is public, or recurs."""
    bases = {"train": splits.meta_base, "val": splits.val_base, "test": splits.test_base}
    public = [splits.train, splits.reference, splits.meta_base, splits.val_base]
    if settings.test_ind:
        bases["test"] = load_ind_images(settings.test_ind, settings.fit(splits.image_size))
        if shared := bases["test"].shared(public):
            raise UnusableInput(
                f"--test-ind {settings.test_ind}: {max(shared.values())} of its {len(bases['test'])} images "
                "are public, in --source: take them out"
            )
    found = without_shared({"IND images of the test": bases["test"]}, public)
    if not found:
        raise UnusableInput("every IND image of the test is public, in --source: give others")
    bases["test"] = found["IND images of the test"]
    return {part: replace(base, name="ind", labels=None) for part, base in bases.items()}


def ood_sets(
    settings: OodSettings, splits: Splits, test_ind: ImageSet
) -> tuple[dict[str, ImageSet], dict[str, list[str]]]:
    """Returns the OOD sets by name, without images that are elsewhere too, and each part's names."""
    fit = settings.fit(splits.image_size)
    reading = settings.id_up_to, settings.classes_per_set, settings.exclude
    chosen = class_sets(settings.classes, *reading) if settings.classes else {}
    most = read_most(settings, splits.classes, chosen)
    if settings.classes:
        per_class = -(-most // settings.classes_per_set)
        found = load_class_sets(chosen, settings.images, fit, per_class, settings.seed)
    else:
        found = load_ood_sets(
            settings.ood, splits.classes, fit, exclude=settings.exclude, limit=most, seed=settings.seed
        )
    tested: dict[str, ImageSet] = {}
    for path in settings.test_from:
        tested = load_ood_sets(path, splits.classes, fit, limit=most, seed=settings.seed)
    every = splits.train, splits.reference, splits.meta_base, splits.val_base, splits.test_base, test_ind
    kept = without_shared({**found, **tested}, every)
    shown = [name for name in kept if name not in tested]
    parts = part_sets(shown, settings.seed, [name for name in tested if name in kept])
    for name in (*parts["train"], *parts["val"]):
        images = kept[name]
        order = OOD_IMAGES(settings.seed, images.name).permutation(len(images))
        kept[name] = images.take(np.sort(order[: _kept_most(settings)]))
    return kept, parts


def read_most(settings: OodSettings, classes: Sequence[str], chosen: Iterable[str] = ()) -> int:
    """Returns the largest number of images that are read of an OOD set; `chosen` are those of a manifest."""
    shown = list(chosen) if settings.classes else ood_set_names(settings.ood, classes, settings.exclude)
    tested: list[str] = []
    for path in settings.test_from:
        tested = ood_set_names(path, classes)
    count = len(part_sets(shown, settings.seed, tested)["test"])
    return max(_kept_most(settings), 2 * most_images(settings)[1] * -(-settings.test_sets // max(count, 1)))


def _kept_most(settings: OodSettings) -> int:
    """Returns the largest number of images of an OOD set for labelled mixes."""
    return max(KEPT, 2 * settings.mix_sizes[1])
