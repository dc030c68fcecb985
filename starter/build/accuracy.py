"""The sets of a competition of the accuracy track: their plan, files and targets."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from tqdm import tqdm

from starter.build.cells import grid_input, open_ruler, plan_grid
from starter.build.draft import Key, Truth
from starter.build.folder import Claim
from starter.build.plan import AtPath, OfCell, Planned, check_sizes, plan_part, plan_train
from starter.build.referees import (
    Fitted,
    check_differs,
    fit_referees,
    load_referees,
    pack_seen,
    referee_files,
    referee_inputs,
    referee_needs,
    seen_files,
    write_referees,
)
from starter.build.settings import AccuracyPlan, Settings
from starter.build.subpopulations import hard_to_easy
from starter.classifiers import read_classifier
from starter.competition.audit import LEAKED_SHARE
from starter.competition.cluster import Cluster
from starter.competition.sets import REFERENCES, PublicSets
from starter.competition.view import View
from starter.encoders.choose import of_encoders
from starter.images.arrays import write_npz
from starter.images.imageset import ImageSet
from starter.observing.observation import unmet
from starter.observing.observe import compute, logits_alone
from starter.operations import groups_of, policy_of
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromRecipe
from starter.sources.splits import Splits
from submission import Competition, UnusableInput, make_id
from submission.arrays import FloatArray
from submission.files import digest_of, sweep, write_text

DEFAULT_NEEDS = ("moments", "image_stats")
"""Fields observed while building, which cost no further forward pass."""
RECIPES_FILE = "train/recipes.jsonl"

Labels = dict[str, dict[str, NDArray[np.int64]]]
"""Class indices of each set's images, int64 (n,), by part and name."""


def plan_accuracy(plan: AccuracyPlan, claim: Claim, splits: Splits, device: str) -> "AccuracySets":
    """Plan the sets of every part.

    Raises:
        UnusableInput: see `plan_train`, `check_sizes`, `plan_part` and `plan_grid`; or test images are public
            with labels.
    """
    settings, train = claim.settings, plan_train(claim.settings, plan)
    bases = {"train": splits.meta_base, "val": splits.val_base, "test": splits.test_base}
    counts = {"validation": len(bases["val"]), "test": len(bases["test"]), "meta-train": len(bases["train"])}
    check_sizes(settings, plan, train, counts, splits.tested)
    ruler = open_ruler(claim, splits, device) if settings.grid else None
    seeds = {"val": settings.seed, "test": claim.test_seed}
    if ruler:
        planned: Mapping[str, Sequence[Planned]] = plan_grid(claim, splits, ruler, seeds)
    else:
        planned = {part: plan_part(settings, plan, part, splits, seed) for part, seed in seeds.items()}
    _check_overlap(settings, splits, planned)
    encoders = load_referees(plan.referees, device, of_encoders(settings.precision))
    inputs = _inputs(plan, train, planned) | grid_input(settings, ruler) | referee_inputs(encoders)
    referees = fit_referees(encoders, splits, train, settings.seed, claim.root / "public")
    return AccuracySets(train, planned, bases, inputs, settings, plan, device, referees)


@dataclass(frozen=True)
class AccuracySets:
    """The planned sets of each part; see `draft.Plans`.

    Attributes:
        train: Recipes of the meta-train sets, before sub-populations are known.
        planned: Validation and test sets, by part.
        bases: Base images, by part.
        inputs: Hashes of the inputs, by option.
        settings, plan: Settings of the build, and those of the track.
        device: Device that runs the classifiers.
        referees: Referees with their probes.
    """

    train: Sequence[Recipe]
    planned: Mapping[str, Sequence[Planned]]
    bases: Mapping[str, ImageSet]
    inputs: Mapping[str, str]
    settings: Settings
    plan: AccuracyPlan
    device: str
    referees: Sequence[Fitted] = ()
    labels: Labels = field(default_factory=dict)

    @property
    def told(self) -> dict[str, object]:
        """Public settings of the competition that follow from the plan, plain JSON values."""
        return {"referees": [each.told() for each in self.referees]} if self.referees else {}

    @property
    def files(self) -> list[str]:
        """The public files that `write` writes."""
        return [RECIPES_FILE, *referee_files(self.referees)]

    @property
    def seen(self) -> list[str]:
        """The public files that `measure` writes."""
        return seen_files(self.referees)

    @property
    def sizes(self) -> dict[str, dict[str, int]]:
        """The number of images of each set, by part and name."""
        return {part: {name: len(values) for name, values in of.items()} for part, of in self.labels.items()}

    def write(self, public: Path) -> None:
        """Write the sets, those of the test without labels."""
        write_referees(public, self.referees)
        train = self._train(public)
        write_text(public / RECIPES_FILE, "".join(recipe.to_json() + "\n" for recipe in train))
        self.labels["train"] = {
            recipe.name: FromRecipe(recipe, self.bases["train"]).labels() for recipe in train
        }
        for part, planned in self.planned.items():
            self.labels[part] = _write_sets(public / part, planned, self.bases[part])

    def _train(self, public: Path) -> Sequence[Recipe]:
        """Returns the meta-train sets' recipes, with sub-populations where the group has any."""
        parts = any(policy_of(group).part_share for group in groups_of(self.plan.group))
        if self.plan.recipes or not parts:
            return self.train
        features, confidence = self._seen_base(public)
        return plan_train(self.settings, self.plan, hard_to_easy(features, confidence, self.settings.seed))

    def _seen_base(self, public: Path) -> tuple[FloatArray, FloatArray]:
        """Returns features (n, d) of the meta-base, and confidence in the class of each image (n,).

        They are the first referee's; without a referee they are the first classifier's, with its logits as
        features if it has no others.
        """
        if self.referees:
            return self.referees[0].look(self.bases["train"].images)
        settings, name = self.settings, self.settings.classifier_names[0]
        weights = public / f"classifiers/{name}.safetensors"
        classifier = read_classifier(weights, name, settings.precision, self.device, settings.engine)
        seen = compute(FromRecipe.whole(self.bases["train"]), classifier, ("logits", "features"))
        confidence = softmax(seen["logits"]["logits"], axis=1).max(axis=1)
        part = "logits" if classifier.logits_alone else "features"
        return seen[part][part], confidence

    def measure(self, draft: Competition, device: str, cluster: Cluster | None) -> Truth:
        """Observe every set with every classifier, and measure every subject on it."""
        check_differs(draft, self.referees, self.bases["train"], self.train)
        needs = tuple(need for need in DEFAULT_NEEDS if not unmet((need,), draft))
        needs += tuple(referee_needs(self.referees))
        if cluster:
            cluster.observe(draft, needs, tuple(self.labels), device, source=True)
            sweep(draft.root, age=0)
        sets = PublicSets(draft)
        accuracy: dict[str, dict[str, float]] = {part: {} for part in self.labels}
        for name in draft.subjects:
            view = View.open(sets, name, needs, device)
            for each in REFERENCES:  # which every method reads; their images are not kept
                view.observe([PublicSets(draft).find(*each)])
            for part, truth in self.labels.items():
                renderings = sets.train if part == "train" else sets.stored(part)
                view.observe(renderings)
                for observation in logits_alone(renderings, view.observer):
                    right = observation.predicted == truth[observation.set_name]
                    accuracy[part][make_id(name, observation.set_name)] = float(right.mean())
        pack_seen(draft, self.referees, device)
        return Truth(accuracy)

    def keys(self, part: str) -> list[Key]:
        """Returns the keys of the sets of "val" or "test"."""
        return [planned.key for planned in self.planned[part]]

    def divided(self) -> list[Key]:
        """Returns the keys by which test sets are divided into the public and the private part."""
        return self.keys("test")

    def record(self) -> list[dict[str, object]]:
        """Returns the data to make the test sets again, plain JSON values."""
        return [planned.record() for planned in self.planned["test"]]


def _check_overlap(settings: Settings, splits: Splits, planned: Mapping[str, Sequence[Planned]]) -> None:
    """Refuse natural test sets with images that are public, perhaps with labels, in the same folder."""
    labelled = [splits.train, splits.reference, splits.meta_base, splits.val_base]
    labelled += [replace(base.images, name=_named(base)) for base in _given(planned["val"])]
    for base in _given(planned["test"]):
        if not (shared := base.images.shared(labelled)):
            continue
        count, where = max(shared.values()), max(shared, key=lambda name: shared[name])
        found = (
            f"--test-from {_named(base)}: {count} of its {len(base.images)} images are public with labels, "
            f"in {where}"
        )
        if settings.hidden or count > LEAKED_SHARE * len(base.images):
            raise UnusableInput(f"{found}; take them out, or name another set")
        print(f"warning: {found}", file=sys.stderr)


def _given(planned: Sequence[Planned]) -> list[AtPath | OfCell]:
    """Returns the bases with images from files or cells, not from a split."""
    return [each.base for each in planned if isinstance(each.base, AtPath | OfCell)]


def _named(base: AtPath | OfCell) -> str:
    return str(base).removeprefix("path:")


def _inputs(
    plan: AccuracyPlan, train: Sequence[Recipe], planned: Mapping[str, Sequence[Planned]]
) -> dict[str, str]:
    """Returns hashes of the natural sets and of the recipes, by option."""
    inputs: dict[str, str] = {}
    for part, sets in planned.items():
        read = {each.base.path: each.base.images for each in sets if isinstance(each.base, AtPath)}
        inputs |= {f"--{part}-from {path}": images.digest for path, images in sorted(read.items())}
    if plan.recipes:
        inputs[f"--recipes {plan.recipes}"] = digest_of(*(recipe.to_json() for recipe in train))
    return inputs


def _write_sets(folder: Path, planned: Sequence[Planned], base: ImageSet) -> dict[str, NDArray[np.int64]]:
    """Render and write each set, a test set without labels, and return the labels by name."""
    labels = {}
    for plan in tqdm(planned, desc=f"render {folder.name} sets", unit="set"):
        rendered = plan.render(base)
        assert rendered.labels is not None
        public = replace(rendered, labels=None) if folder.name == "test" else rendered
        write_npz(folder / f"{plan.recipe.name}.npz", public)
        labels[plan.recipe.name] = rendered.labels
    return labels
