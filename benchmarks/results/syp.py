"""SYP on real CIFAR-10 as its paper has it and as its authors released it: the tables of docs/results/syp.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/syp.py DIR [--classifier NAME]... [--only TABLE]... [--write]

FOLDER is as for cifar10.py here, with weights/repvgg_a0.safetensors besides. In DIR a competition is built
for each classifier, or gone on with; the page says of what sets. Every fit is kept, so that the same command
goes on.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import real
from pages import record
from sklearn.base import clone

from baselines import BASELINES, Estimator
from oracle import ORACLES
from oracle.ablate import METHODS, PARTS, lines_of, rows_of, targets_of
from oracle.runs import TRAINING, fit_rows
from starter.contest.accuracy.settings import AccuracySettings
from starter.contest.build import build
from starter.data.images.arrays import write_npz
from starter.data.images.imageset import ImageSet
from starter.data.operations import OPERATIONS, new_operations
from starter.data.sets.recipe import Recipe, draw_recipes
from starter.data.sources.sources import load_source
from submission import Competition
from submission.scoretable import Targets, validation_targets

SIZE, FEW, HIDDEN, TEST_SEED = 500, 3, 40, 20231
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
GROUPS = ("natural", "natural-few", *MADE)
ORACLE = ("ora-a", "ora-b", "syp")
HIDDEN_GROUPS = ("seen", "new")
TABLES = ("1", "tokens", "curves", "2", "2-test", "3", "4", "5", "fig10")


def rows(table: str, arch: str, variant: str) -> dict[str, Estimator]:
    """The methods of a table, by the label of their row; Rotation takes four passes, so for one network."""
    methods = {name: clone({**BASELINES, **ORACLES}[name]) for name in METHODS}
    for name in ORACLE:
        rate = {"learning_rate": RATES[arch]} if variant == "paper" else {}
        methods[name].set_params(**STEPS, variant=variant, **rate)
    if table == "curves":
        return {
            f"{name}, {count} steps": clone(methods[name]).set_params(iterations=count)
            for name, counts in CURVES.items()
            for count in counts
        }
    if table == "tokens":
        tokens = ("one", "indicators")
        return {f"ora-b, tokens={each}": clone(methods["ora-b"]).set_params(tokens=each) for each in tokens}
    found = rows_of(table, methods)
    if table == "1" and variant == "released":
        return {name: found[name] for name in ORACLE}
    return {name: each for name, each in found.items() if name != "rotation" or arch == "resnet56"}


def made() -> Iterator[tuple[str, Recipe, int]]:
    """Name, recipe and number of classes of each set made here."""
    for number, recipe in enumerate(draw_recipes("default", 8, 1, SIZE, prefix="balanced"), 1):
        yield f"balanced-{number}", Recipe(f"balanced-{number}", recipe.seed, recipe.pixel_ops), 10
    rng = np.random.default_rng(0)
    for number, operation in enumerate(new_operations("default")[::2], 1):
        ops = ((operation, OPERATIONS[operation].draw_params(rng)),)
        yield f"corruption-{operation}", Recipe(f"corruption-{operation}", number, ops), 10
        if number <= 4:
            yield f"corruption-few-{operation}", Recipe(f"corruption-few-{operation}", number, ops), FEW
    for number in range(1, 5):
        yield f"clean-{number}", Recipe(f"clean-{number}", number, ()), 10
        yield f"clean-few-{number}", Recipe(f"clean-few-{number}", number, ()), FEW


def shares(base: ImageSet, count: int, seed: int) -> np.ndarray:
    """SIZE images of `count` classes in equal shares, drawn without replacement, in random order."""
    rng, each = np.random.default_rng(seed % 2**32), SIZE // count
    classes = rng.permutation(10)[:count]
    drawn = [rng.choice(np.flatnonzero(base.truth == label), each, replace=False) for label in classes]
    return rng.permutation(np.concatenate(drawn))


def competition_of(folder: Path, arch: str) -> Competition:
    """The competition of a classifier, built or gone on with."""
    source, sets = str(real.data() / "cifar10.zip"), [real.data() / "natural.zip" / name for name in NATURAL]
    base = load_source(source).test_base
    (folder / "sets").mkdir(parents=True, exist_ok=True)
    for name, recipe, classes in made():
        sets.append(folder / "sets" / f"{name}.npz")
        write_npz(sets[-1], recipe.render(base.take(shares(base, classes, recipe.seed))))
    sizes = {"train_sets": 100, "val_sets": 0, "test_sets": HIDDEN, "set_size": SIZE}
    chosen = {"source": source, "classifiers": (real.weights(arch),), "val_from": tuple(map(str, sets))}
    settings = AccuracySettings.model_validate({**sizes, **chosen})
    return build(folder / arch, settings, TEST_SEED)


def grouped(competition: Competition) -> Targets:
    """The targets of the validation sets, in this module's groups."""
    targets = validation_targets(competition)[competition.metrics[0]]
    kinds = [family.rsplit("-", 1)[0] for family in targets.family_names]
    groups = [kind if kind in MADE else group for kind, group in zip(kinds, targets.groups, strict=True)]
    return replace(targets, groups=tuple(groups))


def lines(table: str, competition: Competition, variant: str) -> Iterator[tuple[dict, dict]]:
    """A line of RMSEs by group, and one of biases, for each row of a table."""
    seeds, part = 1 if table == "curves" else 3, PARTS.get(table, "val")
    runs = fit_rows(competition, rows(table, competition.subjects[0], variant), seeds, part=part)
    targets, groups = grouped(competition), GROUPS
    if part == "test":
        targets, groups = targets_of(competition, part), HIDDEN_GROUPS
    found: dict[object, dict[object, dict[str, object]]] = {}
    for line in lines_of(targets, runs, table):
        found.setdefault(line["row"], {})[line["group"]] = line
    for row, parts in found.items():
        whole, about = parts["all"], {"table": table, "row": row, "variant": variant}
        trained = {name: whole[name] for name in TRAINING}
        if table == "curves":
            yield {**about, **trained, "validation sets": whole["rmse"]}, {}
            continue
        shown = f"{whole['rmse']:.2f} ({whole['sd']:.2f})" if whole["sd"] == whole["sd"] else whole["rmse"]
        rmse = {group: parts[group]["rmse"] for group in groups}
        span = {"95 %": f"{whole['low']:.2f} to {whole['high']:.2f}"}
        yield (
            {**about, "paper": whole["paper"], "seeds": whole["seeds"], "all": shown}
            | (span | rmse if table == "1" else rmse | trained),
            {"row": row, "variant": variant, **{name: parts[name]["bias"] for name in ("all", *groups)}},
        )


def main() -> None:
    """Build, fit table after table, print and write."""
    parser = real.parser(__doc__)
    parser.add_argument("--only", action="append", choices=TABLES, help="repeatable")
    parser.add_argument("--classifier", action="append", choices=[*RATES], help="repeatable")
    options = parser.parse_args()
    real.require("natural.zip", "weights/resnet56.safetensors", "weights/repvgg_a0.safetensors")
    tables: dict[str, list[dict]] = {}
    for arch in options.classifier or RATES:
        competition = competition_of(options.folder, arch)
        for table in (each for each in TABLES if each in (options.only or TABLES)):
            if arch != "resnet56" and table in ("tokens", "curves"):
                continue
            names = {
                "1": f"table-1-{arch}",
                "2-test": f"hidden-{arch}",
                "curves": "curves",
                "tokens": "tokens",
            }
            kind = names.get(table, f"ablations-{arch}")
            for variant in ("paper", "released") if table == "1" else ("paper",):
                for line, bias in lines(table, competition, variant):
                    print(line, flush=True)
                    tables.setdefault(f"syp-{kind}", []).append(line)
                    if table == "1":
                        tables.setdefault(f"syp-{kind}-bias", []).append(bias)
    for name, found in tables.items():
        if options.write:
            record(name.replace("_", "-"), found)


if __name__ == "__main__":
    main()
