"""unseen-best on real CIFAR-10 beside others, by kind of set: the tables of docs/results/unseen-best.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/unseen_best.py DIR [--set-size 500] [--train-size 500]
        [--classifier repvgg_a0] [--seeds 3] [--only NAME]... [--parts] [--small] [--write]

FOLDER is as for cifar10.py here, with weights/repvgg_a0.safetensors. DIR is a competition that this builds,
or goes on with: of ResNet-56 and RepVGG-A0, with the referee lite0, and meta-train sets of --train-size
images: 40 each of the groups default, a and b, of none to three operations, three in ten with other class
priors; and 40 of natural-like, from which nothing is learnt. Besides there are the natural validation and
test sets of cifar10.py, and 20 test sets with operations seen and new. Made in memory are copies of two to
four classes of the sets with operations, and of clean test images; and two halves and class subsets of the
natural validation sets. One module, since its tables are all of the same predictions.

Printed by kind of set: RMSE; the error on each natural set; paired intervals, clustered by source or
operations, with the board's paired test; and how many sets the 90 % intervals hold. With --parts no test set
is used: what it costs to leave a part out, on meta-train sets of groups, operations and accuracies that were
not learnt from, on the natural validation sets, and on these under operations. --small builds a tenth
without a referee, which shows that it runs. SYP's networks are trained for 10,000 steps of 1,000 images, a
thirtieth of what the paper's see.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import real
from cifar10 import TEST, TEST_SEED, VALIDATION
from numpy.typing import NDArray
from pages import record
from sklearn.base import clone

from baselines import BASELINES, Estimator
from baselines.contract.estimator import asked
from baselines.contract.families import subset
from leaderboard.standings import sign_test
from oracle import OraA, OraB, UnseenBest
from oracle.evidence import Evidence
from oracle.unseen_best import Judge
from starter.images.arrays import read_npz
from starter.images.imageset import ImageSet
from starter.making.build import build
from starter.observing.observation import REFEREE, Lazy, MetaTrain, Moments, Observation
from starter.sets.recipe import Recipe, draw_recipes
from starter.sets.rendering import FromRecipe
from starter.sources.sources import load_source
from starter.tracks.accuracy.observe import ClassifierSubject
from starter.tracks.accuracy.plan import base_images
from starter.tracks.accuracy.settings import AccuracySettings
from starter.tracks.plan import PlannedSet
from starter.tracks.sets import PublicSets
from submission import Competition
from submission.arrays import FloatArray
from submission.solution import solution_of

Line = dict[str, Any]
SHORT: dict[str, Any] = {"iterations": 10_000, "batch_size": 1000}
BEST, ALONE = "unseen-best", " without a referee"
COSTLY: dict[str, Estimator] = {"ora-a": OraA(**SHORT), "ora-b": OraB(**SHORT)}
DIRECT = (
    *("cott", "cott-em", "cott-gate", "cott-referee", "mlls", "agreement", "fused", "frap", "atc-ne-ts"),
    *("confscore", "stack"),
)
NO_OPERATIONS = frozenset({"identity", "class_prior", "sub_population"})
"""Families of recipes that change no pixel."""
BLOCKS = 4
"""Parts of all operations; each part is new in turn."""


class NoMeans(Evidence):
    """Evidence without that of the whole set."""

    def table(self, observation: Observation) -> FloatArray:
        found = super().table(observation)
        found[:, [column for column in (2, 3, 5, 7, 9, 11, 13) if column < found.shape[1]]] = 0
        return found


class NoTurns(Evidence):
    """Evidence without that of turned copies."""

    def table(self, observation: Observation) -> FloatArray:
        found = super().table(observation)
        found[:, 4:8] = 0
        return found


class NoPrior(Evidence):
    """Evidence under the source's class prior."""

    def _adapted(self, p: FloatArray) -> FloatArray:
        return p


class Apart(UnseenBest):
    """Without the means over the set."""

    reader = NoMeans


class Upright(UnseenBest):
    """Without turned copies."""

    reader = NoTurns


class Unadapted(UnseenBest):
    """Without EM."""

    reader = NoPrior


class Together(Judge):
    """The regressions with the referee, without the median."""

    def accuracy(self, table: FloatArray) -> float:
        return self.together(table)


class Regressed(UnseenBest):
    """With the regressions alone."""

    judges = Together


PARTS: dict[str, Estimator] = {
    BEST: UnseenBest(),
    f"{BEST}{ALONE}": UnseenBest(),
    "the regressions with the referee alone": Regressed(),
    "no turned copies": Upright(),
    f"no turned copies{ALONE}": Upright(),
    "no copies of few classes": UnseenBest(copies=0),
    "no means over the set": Apart(),
    "no EM for the class prior": Unadapted(),
}
METHODS: dict[str, Estimator] = {
    BEST: UnseenBest(),
    BEST + ALONE: UnseenBest(),
    **{name: BASELINES[name] for name in DIRECT},
    **COSTLY,
}
WIDE, NATURAL_LIKE = ("default", "a", "b"), "natural-like"
"""Groups of the meta-train sets of a `wide` competition from which methods learn, and the other group."""
NATURAL = ("natural", "natural-few")
KINDS = (
    *NATURAL,
    *("unseen", "unseen, few classes", "seen", "seen, few classes", "clean, few classes", "mild natural"),
)
MILD = 0.75
"""Natural validation sets and subsets of them of a higher accuracy are mild."""
LEAST = 40
"""Images of a subset."""
DRAWS = 10_000


@dataclass(frozen=True)
class Case:
    """A set that is judged: its kind, what it is clustered by, and the classifier's accuracy on it."""

    name: str
    kind: str
    cluster: str
    seen: Observation
    truth: float


@dataclass(frozen=True)
class Labelled:
    """A set whose images' classes (n,) are known, to draw others from."""

    name: str
    cluster: str
    seen: Observation
    labels: NDArray[np.int64]

    def case(self, kind: str) -> Case:
        """All of it."""
        truth = float((self.seen.predicted == self.labels).mean())
        return Case(self.name, kind, self.cluster, self.seen, truth)

    def of(self, classes: NDArray[np.int64]) -> "Labelled":
        """The images of these classes."""
        rows = np.flatnonzero(np.isin(self.labels, classes))
        return self.take(f"{self.name}, classes {' '.join(map(str, sorted(classes)))}", rows)

    def take(self, name: str, rows: NDArray[np.int64]) -> "Labelled":
        """Some of the images, with moments of their own."""
        seen = self.seen.take(rows)
        if seen.features is not None:
            seen = replace(seen, moments=Moments.of(seen.features))
        return Labelled(name, self.cluster, replace(seen, set_name=name), self.labels[rows])

    def few(self, rng: np.random.Generator) -> "Labelled":
        """The images of two to four classes, drawn."""
        return self.of(rng.permutation(np.unique(self.labels))[: rng.integers(2, 5)])


def settings(set_size: int, train_size: int, small: bool) -> AccuracySettings:
    """What is built: 40 meta-train sets of every group, or four, without a referee."""
    each = 4 if small else 40
    natural, drawn = real.data() / "natural.zip", []
    for name in (*WIDE, NATURAL_LIKE):
        policy = (
            {} if name == NATURAL_LIKE else {"ops_per_set": (0, 3), "prior_share": 0.3, "weak_share": 0.5}
        )
        drawn += draw_recipes(name, each, 0, train_size, prefix=name, **policy)
    recipes = Path(tempfile.gettempdir()) / f"unseen-wide-{each}-{train_size}.jsonl"
    recipes.write_text("".join(f"{recipe.to_json()}\n" for recipe in drawn))
    return AccuracySettings(
        source=str(real.data() / "cifar10.zip"),
        classifiers=(real.weights(), real.weights("repvgg_a0")),
        train_sets=len(drawn),
        val_sets=0,
        test_sets=20,
        set_size=set_size,
        recipes=str(recipes),
        val_from=tuple(str(natural / name) for name in VALIDATION),
        referees=() if small else ("lite0",),
        test_from=tuple(str(natural / name) for name in TEST),
        decimals=2,
    )


def cases(competition: Competition, subject: ClassifierSubject, built: AccuracySettings) -> list[Case]:
    """Every set that is judged, with the truth, which only the organizer has."""
    planned = json.loads((competition.private / "build.json").read_text(encoding="utf-8"))["test"]
    by_name = {json.loads(each["recipe"])["name"]: each for each in planned}
    truth = {row.set: row.prediction for row in solution_of(competition) if row.id.startswith(subject.name)}
    base = load_source(built.source, None, built.seed, built.fit()).test_base
    rng, found = np.random.default_rng(0), []
    for seen in subject.observations("test"):
        plan = by_name[seen.set_name]
        found.append(Case(plan["family"], plan["group"], plan["family"], seen, truth[seen.set_name]))
        if plan["group"] not in NATURAL:
            recipe = Recipe.from_json(plan["recipe"])
            made = PlannedSet(recipe, plan["group"], plan["family"], plan["base"])
            labels = FromRecipe(recipe, base_images(made, base, {})).labels()
            whole = Labelled(plan["family"], plan["family"], seen, labels)
            found.append(whole.few(rng).case(f"{plan['group']}, few classes"))
    return found + _clean(subject, base, rng) + _validation(subject, rng)


def _clean(subject: ClassifierSubject, base: ImageSet, rng: np.random.Generator) -> list[Case]:
    """Fifteen sets of a few classes of clean test images."""
    seen = subject.observe((FromRecipe.whole(replace(base, labels=None)),), False)[0]
    assert base.labels is not None
    whole = Labelled("clean", "", seen, base.labels)
    few = [whole.few(rng) for _ in range(15)]
    return [replace(each, cluster=each.name).case("clean, few classes") for each in few]


def _validation(subject: ClassifierSubject, rng: np.random.Generator) -> list[Case]:
    """The natural validation sets, their halves and class subsets, and those of high accuracy again."""
    found, sets = [], subject.sets.stored("val")
    for rendering, seen in zip(sets, subject.observations("val"), strict=True):
        labels = read_npz(rendering.path).labels
        assert labels is not None
        whole = Labelled(rendering.name, rendering.name, seen, labels)
        halves = np.array_split(rng.permutation(len(labels)), 2)
        classes = np.unique(labels)
        few = [rng.permutation(classes)[:size] for size in range(1, len(classes)) for _ in range(2)]
        parts = [whole.take(f"{whole.name}, half {i}", np.sort(half)) for i, half in enumerate(halves)]
        parts += [whole.of(each) for each in few]
        found += [each.case("natural validation") for each in [whole, *parts] if len(each.labels) >= LEAST]
    return found + [replace(each, kind="mild natural") for each in found if each.truth > MILD]


def _distorted(subject: ClassifierSubject) -> list[Case]:
    """The natural validation sets under operations: 200 images of each, eight times."""
    found = []
    for number, rendering in enumerate(subject.sets.stored("val")):
        stored = read_npz(rendering.path)
        base = ImageSet(rendering.name, stored.images, stored.labels)
        for recipe in _recipes(number):
            made = FromRecipe(recipe, replace(base, labels=None))
            seen = subject.observe((made,))[0]
            labels = FromRecipe(recipe, base).labels()
            whole = Labelled(f"{base.name}, {recipe.name}", base.name, seen, labels)
            found.append(whole.case("natural validation, distorted"))
    return found


def _recipes(number: int) -> list[Recipe]:
    """What is done to the validation set of this number: what natural shift changes, and each group's."""
    sample: tuple[str, dict[str, Any]] = ("sample", {"n": 200})
    single = (("reframe", "recolour"), ("recolour",), ("reencode",))
    found = [
        Recipe("-".join(names), 7919 * number + turn, (sample, *((name, {}) for name in names)))
        for turn, names in enumerate(single)
    ]
    for group in ("natural-like", "a", "b", "default", "wide"):
        drawn = draw_recipes(group, 4, number, 200, prefix=f"n{number}", ops_per_set=(1, 2), prior_share=0.0)
        found.append(replace(drawn[number], name=group))
    return found


def without(meta: MetaTrain) -> MetaTrain:
    """What there is to learn from where there is no referee."""
    source = replace(meta.source, observation=_alone(meta.source.observation))
    return replace(
        meta, source=source, sets=Lazy(tuple(range(len(meta.sets))), lambda i: _alone(meta.sets[i]))
    )


def _alone(seen: Observation) -> Observation:
    views = {name: logits for name, logits in seen.views.items() if not name.startswith(REFEREE)}
    return replace(seen, views=views)


def alone(sets: Sequence[Case]) -> list[Case]:
    """The sets as they are seen where there is no referee; a set with two kinds stays one observation."""
    seen = {id(each.seen): _alone(each.seen) for each in sets}
    return [replace(each, seen=seen[id(each.seen)]) for each in sets]


def fitted(method: Estimator, meta: MetaTrain, seed: int) -> Estimator:
    """The method, having learnt with this seed."""
    mine = clone(method)
    if "seed" in mine.get_params():
        mine.set_params(seed=seed)
    return mine.fit(meta)


def off_by(method: Estimator, sets: Sequence[Case]) -> FloatArray:
    """The errors (m,) of a fitted method."""
    return method.predict([each.seen for each in sets]) - np.array([each.truth for each in sets])


def tables(errors: Mapping[str, FloatArray], sets: Sequence[Case]) -> dict[str, list[Line]]:
    """By table: RMSE by kind, and the error on each natural set.

    Args:
        errors: of each method, in points, (s, m) over its seeds and the sets.
        sets: m of them.
    """
    kinds = np.array([each.kind for each in sets])
    there = [kind for kind in KINDS if (kinds == kind).any()]
    rmse = [
        {"method": name, **{kind: rms(off[:, kinds == kind]) for kind in there}}
        for name, off in errors.items()
    ]
    natural = [
        {"set": each.name, **{name: float(off[:, i].mean()) for name, off in errors.items()}}
        for i, each in enumerate(sets)
        if each.kind in NATURAL
    ]
    return {"rmse": rmse, "natural": natural}


def compared(errors: Mapping[str, FloatArray], sets: Sequence[Case]) -> list[Line]:
    """unseen-best's RMSE over others' on test sets of new shifts, 95 % over draws of their clusters; and p.

    p is that of the board's paired test, which draws signs for the clusters' sums of squared errors.
    """
    rows = [i for i, each in enumerate(sets) if each.kind in ("unseen", *NATURAL)]
    names = [sets[i].cluster for i in rows]
    clusters = list(dict.fromkeys(names))
    drawn = np.random.default_rng(0).integers(len(clusters), size=(DRAWS, len(clusters)))
    sums = {
        name: np.array(
            [
                sum((off[:, i] ** 2).mean() for i, of in zip(rows, names, strict=True) if of == each)
                for each in clusters
            ]
        )
        for name, off in errors.items()
    }
    found = []
    for name in errors:
        if name != BEST:
            ratios = np.sqrt(sums[BEST][drawn].sum(axis=1) / sums[name][drawn].sum(axis=1))
            low, high = np.quantile(ratios, [0.025, 0.975])
            ratio = float(np.sqrt(sums[BEST].sum() / sums[name].sum()))
            p = float(sign_test((sums[BEST] - sums[name])[None], np.random.default_rng(0))[0])
            found.append({"against": name, "ratio": ratio, "from": float(low), "to": float(high), "p": p})
    return found


def coverage(name: str, method: Estimator, sets: Sequence[Case]) -> list[Line]:
    """How many of the natural validation sets, halves and class subsets the 90 % intervals hold."""
    chosen = [each for each in sets if each.kind in ("natural validation", *NATURAL, "unseen")]
    ends = method.predict_interval([each.seen for each in chosen])
    found = []
    for kind in dict.fromkeys(each.kind for each in chosen):
        rows = [i for i, each in enumerate(chosen) if each.kind == kind]
        held: dict[str, list[bool]] = {}
        for i in rows:
            inside = bool(ends[i, 0] <= chosen[i].truth <= ends[i, 1])
            held.setdefault(chosen[i].cluster, []).append(inside)
        found.append(
            {
                "method": name,
                "sets": kind,
                "clusters": len(held),
                "held": 100 * float(np.mean([np.mean(each) for each in held.values()])),
                "width": 100 * float(np.median(ends[rows, 1] - ends[rows, 0])),
            }
        )
    return found


def parts(competition: Competition, classifier: str) -> list[Line]:
    """RMSE without a part: on meta-train sets that were not learnt from (`held_out`), and their few-class
    copies; on those of the group natural-like; and on natural validation sets, sources weighing alike.
    """
    subject = ClassifierSubject.open(PublicSets(competition), classifier, asked(PARTS.values(), competition))
    every = subject.meta_train()
    meta = learnt_from(every)
    sets = [_as_case(meta, i) for i in range(len(meta.sets))]
    few = [each.few(np.random.default_rng(0)) for each in sets]
    natural = _validation(subject, np.random.default_rng(0)) + _distorted(subject)
    natural += [
        _as_case(every, i).case(NATURAL_LIKE)
        for i, seen in enumerate(every.sets)
        if seen.set_name.startswith(NATURAL_LIKE)
    ]
    found = []
    for name, method in PARTS.items():
        bare = name.endswith(ALONE)
        learnt = fitted(method, without(meta) if bare else meta, 0)
        line: Line = {"unseen-best": name.removeprefix(BEST + " ") if name != BEST else "whole"}
        for title, folds in held_out(meta).items():
            for ending, of in (("", sets), (", few classes", few)):
                off: list[float] = []
                for known, new in folds:
                    tested = [of[i].case("") for i in new if len(of[i].labels) >= LEAST]
                    off += _off_without(learnt, known, alone(tested) if bare else tested)
                line[title + ending] = 100 * rms(np.array(off))
        for kind in ("natural validation", "natural validation, distorted", NATURAL_LIKE):
            of_kind = [each for each in natural if each.kind == kind]
            if of_kind:
                errors = off_by(learnt, alone(of_kind) if bare else of_kind)
                clusters = np.array([each.cluster for each in of_kind])
                by_source = [np.mean(errors[clusters == each] ** 2) for each in dict.fromkeys(clusters)]
                line[kind] = 100 * float(np.sqrt(np.mean(by_source)))
        found.append(line)
        print(found[-1], flush=True)
    return found


def _off_without(method: UnseenBest, known: NDArray[np.int64], sets: Sequence[Case]) -> list[float]:
    """The errors of a fitted method if it had learnt from the `known` meta-train sets alone."""
    judged = [each for i in known for each in method._sets[i]]
    judge = method.judges.of([*judged, *method._source])
    return [judge.accuracy(method.evidence_.table(each.seen)) - each.truth for each in sets]


def held_out(meta: MetaTrain) -> dict[str, list[tuple[NDArray[np.int64], NDArray[np.int64]]]]:
    """Meta-train sets to learn from, and others to judge: indices, by what is new about the others.

    New is a group of operations; or a fourth of all operations; or how low the accuracy is, for the two
    fifths of the sets with the lowest.
    """
    groups = np.array([seen.set_name.partition("_")[0] for seen in meta.sets])
    operations = sorted(frozenset[str]().union(*meta.families) - NO_OPERATIONS)
    new = {
        "group": [groups == each for each in dict.fromkeys(groups)],
        "operations": [
            np.array([not family.isdisjoint(operations[start::BLOCKS]) for family in meta.families])
            for start in range(BLOCKS)
        ],
        "hardest": [meta.targets < np.quantile(meta.targets, 0.4)],
    }
    return {
        title: [(np.flatnonzero(~each), np.flatnonzero(each)) for each in masks if not each.all()]
        for title, masks in new.items()
    }


def _as_case(meta: MetaTrain, i: int) -> Labelled:
    return Labelled(meta.sets[i].set_name, "", meta.sets[i], meta.labels[i])


def rms(errors: FloatArray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def options() -> argparse.Namespace:
    """What was asked for."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--set-size", type=int, default=500)
    parser.add_argument("--train-size", type=int, default=500)
    parser.add_argument("--classifier", default="resnet56")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", action="append", metavar="NAME", help="of these methods; may be repeated")
    parser.add_argument("--parts", action="store_true", help="what each part is worth; no test set")
    parser.add_argument("--small", action="store_true", help="four meta-train sets of a group, no referee")
    parser.add_argument("--write", action="store_true", help="record the tables for docs/results")
    return parser.parse_args()


def learnt_from(meta: MetaTrain) -> MetaTrain:
    """The meta-train sets without those of natural-like."""
    names = [seen.set_name.partition("_")[0] for seen in meta.sets]
    return subset(meta, np.flatnonzero(np.isin(names, WIDE)))


def errors_of(
    methods: Mapping[str, Estimator], meta: MetaTrain, sets: list[Case], seeds: int
) -> tuple[dict[str, FloatArray], list[Line]]:
    """Each method's errors in points, (s, m) over seeds and sets, and what unseen-best's intervals hold."""
    errors, covered, bare = {}, [], (without(meta), alone(sets))
    for name, method in methods.items():
        learnt, judged = bare if name.endswith(ALONE) else (meta, sets)
        runs = []
        for seed in range(seeds if name.startswith(BEST) else 1):
            mine = fitted(method, learnt, seed)
            runs.append(100 * off_by(mine, judged))
        errors[name] = np.array(runs)
        print(name, flush=True)
        if name.startswith(BEST):
            covered += coverage(name, mine, judged)
    return errors, covered


def main() -> None:
    """Build, fit, predict, print."""
    given = options()
    built = settings(given.set_size, given.train_size, given.small)
    competition = build(given.folder, built, TEST_SEED)
    if given.parts:
        found = {"parts": parts(competition, given.classifier)}
    else:
        methods = {name: METHODS[name] for name in given.only or METHODS}
        needs = asked(methods.values(), competition)
        subject = ClassifierSubject.open(PublicSets(competition), given.classifier, needs)
        sets = cases(competition, subject, built)
        errors, covered = errors_of(methods, learnt_from(subject.meta_train()), sets, given.seeds)
        found = tables(errors, sets) | {"intervals": covered}
        if BEST in errors:
            found["paired"] = compared(errors, sets)
    for table, lines in found.items():
        print(f"\n{table}")
        for line in lines:
            print(
                {key: round(value, 2) if isinstance(value, float) else value for key, value in line.items()}
            )
        if given.write and table != "natural":
            record(f"unseen-best-{table}-wide-{given.classifier.partition('_')[0]}", lines)


if __name__ == "__main__":
    main()
