"""Building a competition folder from settings: public parts, hidden solution, observations."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.build.cells import grid_input, open_ruler, plan_grid
from starter.build.folder import (
    Claim,
    claimed,
    given_classifiers,
    hashes,
    licences,
    public_sets,
    remove_strays,
    write_bases,
    write_classifiers,
)
from starter.build.ood import build_mixes
from starter.build.plan import Planned, Settings, plan_part, plan_train
from starter.classifiers import Classifier, check_device
from starter.competition.accuracy import GROUPS_FILE, PublicSets, Subject, write_groups
from starter.competition.cluster import Cluster
from starter.encoders.choose import EMBEDDED, load_encoder
from starter.images.arrays import write_npz
from starter.images.imageset import ImageSet
from starter.observing.cache import keep_elsewhere
from starter.observing.observe import logits_alone
from starter.sets.rendering import FromRecipe
from starter.shift.ruler import read_referee
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
from submission.solution import solution_of

LEAKED_SHARE = 0.05
"""A natural test set of which more than this is public is refused; where images are hidden, any."""
DEFAULT_NEEDS = ("moments", "image_stats")
"""Observed while building: what costs no further forward pass."""


def build(
    root: Path,
    settings: Settings,
    test_seed: int | None = None,
    device: str = "cpu",
    data_root: Path | None = None,
    cluster: Cluster | None = None,
    cache: str = "",
) -> Competition:
    """Build the competition of `settings` in `root`, or finish a build of the same settings.

    Every step writes whole files and every observation is cached, so an interrupted build goes on where it
    stopped and ends in the same files. ``public/competition.json`` comes last and marks the end.

    Args:
        root: the competition's folder.
        settings: what to build.
        test_seed: of everything hidden; drawn from the system's entropy unless given (for tests).
        device: where classifiers run.
        data_root: where a named source finds or puts its download.
        cluster: who observes, instead of this process; the files are the same.
        cache: a folder or address to keep observations at, now and later, instead of ``root/cache``.

    Raises:
        UnusableInput: `root` holds something else or was built with other settings (they are named), another
            build is at work there, images or weights have changed since the build was begun, test images are
            public, or an argument cannot be used.
    """
    check_device(device)
    with claimed(root, settings, test_seed) as claim:
        if cache:
            keep_elsewhere(root, cache)
        if (root / "public/competition.json").is_file():
            return _finished(root)
        _check_grid(settings)
        return BUILDS[settings.track](claim, device, data_root, cluster)


def _check_grid(settings: Settings) -> None:
    """Read what --grid and --referee name, as far as it need not be trained, before anything takes long."""
    if settings.referee:
        read_referee(Path(settings.referee), settings.grid)
    elif settings.grid not in ("", EMBEDDED):
        load_encoder(settings.grid, Path())


def build_accuracy(
    claim: Claim, device: str, data_root: Path | None, cluster: Cluster | None = None
) -> Competition:
    root, settings, public = claim.root, claim.settings, claim.root / "public"
    splits = load_source(settings.source, data_root, settings.seed)
    if settings.datacv_splits:
        splits = splits.as_in_datacv()
    given = given_classifiers(settings, splits, device)
    ruler = open_ruler(claim, splits, device) if settings.grid else None
    seeds = {"val": settings.seed, "test": claim.test_seed}
    if ruler:
        plans: Mapping[str, Sequence[Planned]] = plan_grid(claim, splits, ruler, seeds)
    else:
        plans = {part: plan_part(settings, part, splits, seed) for part, seed in seeds.items()}
    _check_overlap(settings, splits, plans)
    claim.check_inputs(_inputs(settings, splits, plans, given) | grid_input(settings, ruler))
    write_text(public / LICENCES, licences(settings))
    write_bases(public, splits, settings.seed)
    write_classifiers(public, given, splits, settings)
    recipes = plan_train(settings)
    write_text(public / "train/recipes.jsonl", "".join(recipe.to_json() + "\n" for recipe in recipes))
    labels = {"train": {r.name: FromRecipe(r, splits.meta_base).labels() for r in recipes}}
    for part, base in (("val", splits.val_base), ("test", splits.test_base)):
        labels[part] = _write_sets(public / part, plans[part], base)
    write_groups(public / GROUPS_FILE, [plan.key for plan in plans["val"]])
    draft = _draft(root, settings, splits, labels)
    accuracy = _measure(draft, labels, device, cluster)
    for part in ("train", "val"):
        write_predictions(public / part / "targets.csv", accuracy[part], column="target")
    write_sample(public / "sample_submission.csv", draft.ids("test"))
    _write_private(draft, claim, plans["test"], accuracy["test"])
    files = ("sample_submission.csv", "train/targets.csv", "val/targets.csv")
    competition = replace(draft, files={**draft.files, **hashes(public, files)})
    competition.save()
    return competition


BUILDS = {"accuracy": build_accuracy, "ood": build_mixes}
"""How a competition of each track is built."""


def _draft(
    root: Path,
    settings: Settings,
    splits: Splits,
    labels: Mapping[str, Mapping[str, NDArray[np.int64]]],
) -> Competition:
    """The competition before its targets are known; its `files` are named one by one, never found."""
    files = ["base.npz", "reference.npz", "train_ref.npz", "train/recipes.jsonl", GROUPS_FILE, LICENCES]
    files += [f"classifiers/{subject}.safetensors" for subject in settings.subjects]
    files += [f"{part}/{name}.npz" for part in ("val", "test") for name in labels[part]]
    return Competition(
        root=root,
        name=root.resolve().name,
        track="accuracy",
        visibility="hidden" if settings.hidden else "practice",
        source=Path(settings.source).absolute().name,
        classes=splits.classes,
        image_size=splits.image_size,
        subjects=settings.subjects,
        sizes={part: {name: len(values) for name, values in sets.items()} for part, sets in labels.items()},
        precision=settings.precision,
        seed=settings.seed,
        settings=settings.public(),
        files=hashes(root / "public", files),
        **settings.rules(),
    )


def _finished(root: Path) -> Competition:
    """A competition that is built is never built again: its solution must stay what it was scored with."""
    competition = Competition.open(root)
    for file in competition.files:
        competition.file(file)
    solution_of(competition)
    return competition


def _check_overlap(settings: Settings, splits: Splits, plans: Mapping[str, Sequence[Planned]]) -> None:
    """Refuse natural test sets whose images, and so perhaps their labels, are public in this very folder."""
    labelled = [splits.train, splits.reference, splits.meta_base, splits.val_base]
    labelled += [replace(plan.images, name=plan.base) for plan in plans["val"] if plan.images is not None]
    for plan in plans["test"]:
        if plan.images is None or not (shared := plan.images.shared(labelled)):
            continue
        path, count = plan.base.removeprefix("path:"), max(shared.values())
        where = max(shared, key=lambda name: shared[name]).removeprefix("path:")
        found = (
            f"--test-from {path}: {count} of its {len(plan.images)} images are public with labels, in {where}"
        )
        if settings.hidden or count > LEAKED_SHARE * len(plan.images):
            raise UnusableInput(f"{found}; take them out, or name another set")
        print(f"warning: {found}", file=sys.stderr)


def _inputs(
    settings: Settings,
    splits: Splits,
    plans: Mapping[str, Sequence[Planned]],
    given: Mapping[str, Classifier],
) -> dict[str, str]:
    """A hash of everything that the build reads, by the option that named it."""
    parts = (splits.train, splits.reference, splits.meta_base, splits.val_base, splits.test_base)
    inputs = {f"--source {settings.source}": digest_of(splits.classes, *(part.digest for part in parts))}
    for part, planned in plans.items():
        read = [plan for plan in planned if plan.base.startswith("path:") and plan.images is not None]
        natural = sorted((plan.base, plan.images.digest) for plan in read if plan.images is not None)
        inputs |= {f"--{part}-from {base.removeprefix('path:')}": digest for base, digest in natural}
    if settings.recipes:
        inputs[f"--recipes {settings.recipes}"] = digest_of(
            *(each.to_json() for each in plan_train(settings))
        )
    return inputs | {f"--classifier {name}": classifier.digest for name, classifier in given.items()}


def _write_sets(folder: Path, planned: Sequence[Planned], base: ImageSet) -> dict[str, NDArray[np.int64]]:
    """Render each set and write it, a test set without its labels. The labels of each, by name."""
    labels = {}
    for plan in tqdm(planned, desc=f"render {folder.name} sets", unit="set"):
        rendered = plan.render(base)
        assert rendered.labels is not None
        public = replace(rendered, labels=None) if folder.name == "test" else rendered
        write_npz(folder / f"{plan.recipe.name}.npz", public)
        labels[plan.recipe.name] = rendered.labels
    return labels


def _measure(
    draft: Competition,
    labels: dict[str, dict[str, NDArray[np.int64]]],
    device: str,
    cluster: Cluster | None,
) -> dict[str, dict[str, float]]:
    """Observe every set with every classifier; its true accuracy, by part and id."""
    if cluster:
        cluster.observe(draft, DEFAULT_NEEDS, tuple(labels), device)
        remove_strays(draft.root)
    sets = PublicSets(draft)
    accuracy: dict[str, dict[str, float]] = {part: {} for part in labels}
    for name in draft.subjects:
        subject = Subject.open(sets, name, DEFAULT_NEEDS, device)
        for part, truth in labels.items():
            renderings = sets.train if part == "train" else sets.stored(part)
            subject.observe(renderings)
            for observation in logits_alone(renderings, subject.observer):
                right = observation.predicted == truth[observation.set_name]
                accuracy[part][make_id(name, observation.set_name)] = float(right.mean())
    return accuracy


def _write_private(
    draft: Competition, claim: Claim, planned: Sequence[Planned], accuracy: Mapping[str, float]
) -> None:
    """The solution, with each set's usage, and how to make the test sets again."""
    public = public_sets([plan.key for plan in planned], claim.test_seed)
    rows = [
        SolutionRow(
            id=make_id(subject, plan.recipe.name),
            prediction=accuracy[make_id(subject, plan.recipe.name)],
            usage="Public" if plan.recipe.name in public else "Private",
            subject=subject,
            set=plan.recipe.name,
            group=plan.group,
        )
        for subject in draft.subjects
        for plan in planned
    ]
    write_solution(draft.private / "solution.csv", rows)
    claim.record(test=[plan.record() for plan in planned])
