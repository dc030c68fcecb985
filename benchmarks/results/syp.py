"""SYP on real CIFAR-10 as its paper has it and as its authors released it: the tables of docs/results/syp.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/syp.py DIR [--only STAGE]...
    python benchmarks/results/syp.py --tables

FOLDER is as for cifar10.py here, with weights/repvgg_a0.safetensors besides. In DIR a competition is built
for each classifier, or gone on with: 100 meta-train sets of 500 images of the default group, and validation
sets of at most 500 images in seven groups:

- natural: photographs of seven classes or more from other sources; natural-few: of fewer classes;
- balanced: all ten classes in equal shares, three operations of the meta-train sets;
- corruption: all ten classes in equal shares, one operation that no meta-train set has;
- corruption-few: the same of three classes;
- clean, clean-few: CIFAR-10's test images of all ten classes in equal shares, and of three.

The sets that are made here come from test images that no other set shows. Every fit is kept, so that the same
command goes on; after each stage docs/results/data/syp.csv is written, with what there is. The stages are in
an order in which what counts most comes first, and --only chooses some. --tables makes the page's tables of
that CSV.
"""

import argparse
import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import real
from pages import DATA, record
from sklearn.base import clone

from baselines import BASELINES, Estimator
from oracle import ORACLES
from oracle.ablate import HEADER, METHODS, lines_of, published, rows_of
from oracle.runs import fit_rows
from starter.images.arrays import write_npz
from starter.images.imageset import ImageSet
from starter.making.build import build
from starter.operations import OPERATIONS, unseen_operations
from starter.sets.recipe import Recipe, draw_recipes
from starter.sources.sources import load_source
from starter.tracks.accuracy.settings import AccuracySettings
from submission import Competition
from submission.competition import DESCRIPTION
from submission.scoretable import validation_groups

SIZE = 500
STEPS = {"iterations": 5000, "batch_size": 1000}
CURVES = {"ora-a": (1250, 2500, 5000, 10_000), "ora-b": (1250, 2500, 5000, 10_000, 20_000)}
"""Numbers of steps after which the losses are compared."""
RATES = {"resnet56": 0.1, "repvgg_a0": 0.05}
"""The paper's learning rates; the released code's are those of the variant."""
NATURAL = (
    *("caltech101", "catsdogs_kaggle", "catsdogs_small", "imagenet_one_each", "imagenette_dog_truck"),
    *("natural_images", "pacs_cartoon", "pacs_photo", "stylised_shapes", "tinyin_a", "tinyin_d"),
)
MADE = ("balanced", "corruption", "corruption-few", "clean", "clean-few")
FEW = 3
TEST_SEED = 20231
ORACLE = ("ora-a", "ora-b", "syp")
GROUPS = ("natural", "natural-few", "balanced", "corruption", "corruption-few", "clean", "clean-few")


@dataclass(frozen=True)
class Stage:
    """What is fitted: a table for a classifier, or the curves of the losses.

    Attributes:
        table: of `oracle.ablate.TABLES`; "curves"; or "rotation", a line of table 1 that takes four passes.
        classifier: an architecture.
        variant: of the oracles.
        seeds: how many.
    """

    table: str
    classifier: str
    variant: str
    seeds: int

    def __str__(self) -> str:
        return f"{self.table}:{self.classifier}:{self.variant}:{self.seeds}"


def stages() -> list[Stage]:
    """In the order in which they are made: first one seed of table 1, then all the others."""
    first = [Stage("1", "resnet56", variant, 1) for variant in ("paper", "released")]
    single = [Stage(table, "resnet56", "paper", 1) for table in ("2", "3", "4", "5", "fig10")]
    curves = [Stage("curves", "resnet56", variant, 1) for variant in ("paper", "released")]
    more = [Stage(each.table, each.classifier, each.variant, 3) for each in (*first, *single)]
    other = [Stage("1", "repvgg_a0", variant, seeds) for seeds in (1, 3) for variant in ("paper", "released")]
    return [*first, *single, *curves, *more, Stage("rotation", "resnet56", "paper", 1), *other]


def rows(stage: Stage) -> dict[str, Estimator]:
    """The methods of a stage, by the label of their row."""
    methods = {name: clone({**BASELINES, **ORACLES}[name]) for name in METHODS}
    for name in ORACLE:
        methods[name].set_params(**STEPS, variant=stage.variant)
        if stage.variant == "paper":
            methods[name].set_params(learning_rate=RATES[stage.classifier])
    if stage.table == "rotation":
        return {"rotation": methods["rotation"]}
    if stage.table != "curves":
        found = rows_of(stage.table, methods)
        left = ("rotation",) if stage.variant == "paper" else tuple(BASELINES)
        return {name: method for name, method in found.items() if name not in left}
    return {
        f"{name}, {count} steps": clone(methods[name]).set_params(iterations=count)
        for name, counts in CURVES.items()
        for count in counts
    }


def write_sets(folder: Path) -> list[Path]:
    """Make the sets of CIFAR-10's own images, an .npz each."""
    base = load_source(str(real.data() / "cifar10.zip")).test_base
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for name, recipe, classes in made():
        found.append(folder / f"{name}.npz")
        write_npz(found[-1], recipe.render(base.take(shares(base, classes, recipe.seed))))
    return found


def made() -> Iterator[tuple[str, Recipe, int]]:
    """Name, recipe and number of classes of each set made here."""
    default = draw_recipes("default", 8, 1, SIZE, prefix="balanced")
    for number, recipe in enumerate(default, 1):
        yield f"balanced-{number}", Recipe(f"balanced-{number}", recipe.seed, recipe.pixel_ops), 10
    rng = np.random.default_rng(0)
    for number, operation in enumerate(unseen_operations("default")[::2], 1):
        ops = ((operation, OPERATIONS[operation].draw_params(rng)),)
        yield f"corruption-{operation}", Recipe(f"corruption-{operation}", number, ops), 10
        if number <= 4:
            yield f"corruption-few-{operation}", Recipe(f"corruption-few-{operation}", number, ops), FEW
    for number in range(1, 5):
        yield f"clean-{number}", Recipe(f"clean-{number}", number, ()), 10
        yield f"clean-few-{number}", Recipe(f"clean-few-{number}", number, ()), FEW


def shares(base: ImageSet, count: int, seed: int) -> np.ndarray:
    """SIZE images of `count` classes in equal shares, drawn without replacement, in random order."""
    assert base.labels is not None
    rng = np.random.default_rng(seed % 2**32)
    classes = rng.permutation(10)[:count]
    each = SIZE // count
    drawn = [rng.choice(np.flatnonzero(base.labels == label), each, replace=False) for label in classes]
    return rng.permutation(np.concatenate(drawn))


def competition_of(folder: Path, arch: str) -> Competition:
    """The competition of a classifier, built where it is not."""
    if (folder / arch / DESCRIPTION).exists():
        return Competition.open(folder / arch)
    sets = write_sets(folder / "sets")
    natural = [real.data() / "natural.zip" / name for name in NATURAL]
    settings = AccuracySettings(
        source=str(real.data() / "cifar10.zip"),
        classifiers=(real.weights(arch),),
        train_sets=100,
        val_sets=0,
        test_sets=2,
        set_size=SIZE,
        val_from=tuple(map(str, (*natural, *sets))),
        precision="bfloat16",
    )
    return build(folder / arch, settings, TEST_SEED)


def keys_of(competition: Competition) -> list[tuple[str, str]]:
    """Group and family of each validation set; the groups are this module's."""
    found = []
    for group, family in validation_groups(competition).values():
        mine = [name for name in MADE if family.rsplit("-", 1)[0] == name]
        found.append((mine[0] if mine else group, family))
    return found


def lines(stage: Stage, competition: Competition) -> list[dict[str, object]]:
    """The stage's lines, fitted or read."""
    runs = fit_rows(competition, rows(stage), stage.seeds, progress=False)
    number = "1" if stage.table == "rotation" else stage.table
    made = lines_of(competition, runs, keys_of(competition), number)
    told = {"table": stage.table, "classifier": stage.classifier, "variant": stage.variant}
    return [{**told, **{name: line[name] for name in HEADER if name != "subject"}} for line in made]


def page_tables(lines: Sequence[Mapping[str, str]], told: Mapping[str, str]) -> None:
    """What the page shows of the lines of syp.csv: RMSE and bias by group, a CSV each; and the curves.

    Args:
        lines: of the CSV.
        told: where they come from, command and commit.
    """
    rows: dict[tuple[str, ...], dict[str, Mapping[str, str]]] = {}
    for line in lines:
        key = (line["table"], line["classifier"], line["variant"], line["row"])
        rows.setdefault(key, {})[line["group"]] = line
    made: dict[str, list[dict[str, object]]] = {}
    for (table, classifier, variant, row), groups in rows.items():
        whole = groups["all"]
        about: dict[str, object] = {"table": table, "row": row, "variant": variant}
        trained = {name: whole[name] for name in ("train_threshold", "train_mean", "train_image")}
        if table == "curves":
            made.setdefault("syp-curves", []).append({**about, **trained, "validation sets": whole["rmse"]})
            continue
        number = "1" if table == "rotation" else table
        given = published(number, row, classifier)
        about["paper"] = "" if math.isnan(given) else f"{given:.2f}"
        shown = f"{whole['rmse']} ({whole['sd']})" if whole["sd"] else whole["rmse"]
        by_group = {group: groups[group]["rmse"] for group in GROUPS}
        about["table"] = number
        name = f"syp-{'table-1' if number == '1' else 'ablations'}-{classifier.replace('_', '-')}"
        span = {"95 %": f"{whole['low']} to {whole['high']}"} if number == "1" else {}
        made.setdefault(name, []).append(
            {**about, "seeds": whole["seeds"], "all": shown, **span, **by_group}
            | ({} if number == "1" else trained)
        )
        if number == "1":
            bias = {group: groups[group]["bias"] for group in ("all", *GROUPS)}
            made.setdefault(f"{name}-bias", []).append({"row": row, "variant": variant, **bias})
    for name, found in made.items():
        record(name, found, command=told["command"], commit=told["commit"])


def main() -> None:
    """Build, fit stage after stage, write."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR", nargs="?", default=Path("syp"))
    parser.add_argument("--only", action="append", metavar="TABLE:CLASSIFIER:VARIANT:SEEDS")
    parser.add_argument("--tables", action="store_true", help="make the page's tables of syp.csv")
    options = parser.parse_args()
    if options.tables:
        with (DATA / "syp.csv").open(encoding="utf-8", newline="") as stream:
            page_tables([*csv.DictReader(stream)], json.loads((DATA / "syp.json").read_text()))
        return
    competitions: dict[str, Competition] = {}
    found: dict[tuple[str, str, str], list[dict[str, object]]] = {}
    for stage in stages():
        if options.only and str(stage) not in options.only:
            continue
        started = perf_counter()
        if stage.classifier not in competitions:
            competitions[stage.classifier] = competition_of(options.folder, stage.classifier)
        made = lines(stage, competitions[stage.classifier])
        found[stage.table, stage.classifier, stage.variant] = made
        record("syp", [line for part in found.values() for line in part])
        print(f"{stage}: {perf_counter() - started:.0f} s", flush=True)
        for line in made:
            if line["group"] == "all":
                print(stage, line["row"], f"{line['rmse']:.2f}", flush=True)


if __name__ == "__main__":
    main()
