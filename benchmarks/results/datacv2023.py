"""The DataCV challenge of 2023 in its own size: 1,000 meta-train sets of 10,000 images, and every method.

    UNSEEN_DATA=FOLDER python benchmarks/results/datacv2023.py DIR [--engine openvino] [--precision bfloat16]
        [--device cuda] [--only NAME] [--classifier resnet56] [--write]

FOLDER is as for cifar10.py here, with weights/repvgg_a0.safetensors besides. The settings are those of
`--preset datacv2023`, with the natural sets of cifar10.py. Without --only, the methods are those that
`unseen predict` runs unasked and that read nothing but what a build observes; ORA-A, ORA-B and SYP have to be
named. It takes some hours on a CPU that computes in bfloat16, many without it; the same command goes on.
"""

import numpy as np
import real
from cifar10 import GROUPS, TEST_SEED, read_from
from pages import record
from sklearn.base import clone
from syp import ORACLE, RATES

import unseen
from baselines import BASELINES, Estimator
from baselines.run.predict import predict
from leaderboard.methods import read_methods
from oracle import ORACLES
from oracle.ablate import published
from starter.contest.accuracy.settings import AccuracySettings
from starter.contest.build import build
from starter.contest.named_settings import preset
from starter.contest.tracks import TRACKS
from submission import Competition
from submission.scoring import score_rows
from submission.solution import solution_of


def settings(classifier: str, engine: str, precision: str) -> AccuracySettings:
    """The preset's, with images and weights from FOLDER."""
    given = {**read_from(classifier), "engine": engine, "precision": precision}
    return AccuracySettings.model_validate({**preset("datacv2023", "accuracy"), **given})


def chosen(competition: Competition, names: list[str]) -> dict[str, Estimator]:
    """The methods that read what a build observes: those named, or all that `unseen predict --all` runs."""
    when = unseen.methods().runs
    methods = {
        name: clone(method)
        for name, method in {**BASELINES, **ORACLES}.items()
        if set(method.needs) <= set(TRACKS["accuracy"].needs)
        and (name in names if names else when[name] != "if named")
    }
    for name in methods.keys() & ORACLE:
        methods[name].set_params(learning_rate=RATES[competition.subjects[0]])
    return methods


def lines(competition: Competition, classifier: str) -> list[dict[str, object]]:
    """A line for each method: RMSE in points over all sets, each group, and the groups' root mean square."""
    rows, found = solution_of(competition), []
    for method, predictions in read_methods(competition).predictions.items():
        parts = {"all": rows, **{group: [row for row in rows if row.group == group] for group in GROUPS}}
        scores = {part: score_rows(predictions, own).rmse for part, own in parts.items()}
        scores["by group"] = float(np.sqrt(np.mean([scores[group] ** 2 for group in GROUPS])))
        scores["paper, its own 40 sets"] = published("1", method, classifier)
        found.append({"method": method, "classifier": classifier, **scores})
    return sorted(found, key=lambda line: line["all"])


def main() -> None:
    """Build or go on, predict, print."""
    parser = real.parser(__doc__)
    parser.add_argument("--engine", default="", help="openvino or torch")
    parser.add_argument("--precision", default="", help="bfloat16 is faster on CPUs that compute in it")
    parser.add_argument("--device", default="cpu", help="of the classifiers: cpu, cuda")
    parser.add_argument("--only", action="append", metavar="NAME", help="these methods; repeatable")
    parser.add_argument("--classifier", action="append", choices=RATES, help="of both; repeatable")
    options = parser.parse_args()
    real.require("natural.zip", "weights/resnet56.safetensors", "weights/repvgg_a0.safetensors")
    found: list[dict[str, object]] = []
    for name in options.classifier or RATES:
        folder, cache = options.folder / name, str(options.folder / "cache")
        asked = settings(name, options.engine, options.precision)
        competition = build(folder, asked, TEST_SEED, options.device, cache=cache)
        predict(competition, chosen(competition, options.only or []), options.device)
        found += lines(competition, name)
        print(*found, sep="\n")
    if options.write:
        own = [name.partition("_")[0] for name in options.classifier or []]
        record("-".join(["datacv2023", *own]), found)


if __name__ == "__main__":
    main()
