"""The DataCV challenge of 2023 in its own size: 1,000 meta-train sets of 10,000 images, and every method.

    UNSEEN_DATA=FOLDER python benchmarks/results/datacv2023.py DIR [--classifier NAME]... [--engine openvino]
        [--precision bfloat16] [--hours H] [--only NAME]... [--write]

FOLDER is as for cifar10.py here; weights/ holds repvgg_a0.safetensors too. The settings are those of
`--preset datacv2023`, with the labelled natural sets of cifar10.py as validation sets and its natural test
sets beside the preset's 100: the challenge's own, CIFAR-10.1 and CIFAR-10-F, have no place in FOLDER.

Without --only, the methods are those that `unseen predict` runs unasked and that read nothing but what a
build observes; ORA-A, ORA-B and SYP have to be named, and train for as long and as fast as the paper's.

It takes many hours on a CPU. Whatever stops it (--hours, Ctrl-C, a signal), the next run of the same command
goes on; DIR/sittings.csv has a line for each run, and the page adds them up. Each classifier has its own
competition; all that are in DIR are printed and written. The observations are in DIR/cache.
"""

import argparse
import csv
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import real
from cifar10 import GROUPS, TEST, TEST_SEED, VALIDATION
from pages import record
from sklearn.base import clone
from syp import ORACLE, RATES

import unseen
from baselines import BASELINES, Estimator
from baselines.run.predict import predict
from leaderboard.publish import read_methods
from oracle import ORACLES
from starter.making.build import build
from starter.making.presets import preset
from starter.observing.observation import unmet
from starter.tracks.accuracy.settings import AccuracySettings
from starter.tracks.tracks import TRACKS
from submission import Competition
from submission.scoring import read_targets, score_rows
from submission.solution import solution_of

CLASSIFIERS = ("resnet56", "repvgg_a0")
PAPER = {
    "confscore": (6.99, 8.72),
    "entropy": (7.40, 9.09),
    "atc-datacv": (7.77, 8.13),
    "fd": (4.99, 5.97),
    "ora-a": (3.16, 3.65),
    "ora-b": (3.93, 4.34),
}
"""RMSE of SYP's table 1 on its 40 validation sets, by classifier."""


def settings(classifier: str, engine: str, precision: str) -> AccuracySettings:
    """The preset's, with images and weights from FOLDER."""
    given = dict(preset("datacv2023", "accuracy"))
    natural = real.data() / "natural.zip"
    given |= {
        "source": str(real.data() / "cifar10.zip"),
        "classifiers": (real.weights(classifier),),
        "val_from": tuple(str(natural / name) for name in VALIDATION),
        "test_from": tuple(str(natural / name) for name in TEST),
        "engine": engine,
        "precision": precision,
    }
    return AccuracySettings.model_validate(given)


@contextmanager
def sitting(folder: Path, what: str) -> Iterator[None]:
    """Add a line with time and peak memory to DIR/sittings.csv when the work ends or is stopped."""
    begun, before = time.time(), time.process_time()
    try:
        yield
    finally:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "sittings.csv"
        new = not file.exists()
        with file.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            if new:
                writer.writerow(["what", "hours", "processor hours", "peak GB"])
            hours = (time.time() - begun) / 3600, (time.process_time() - before) / 3600
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            writer.writerow([what, *(f"{each:.3f}" for each in hours), f"{peak:.2f}"])


def observed(competition: Competition, names: list[str]) -> dict[str, Estimator]:
    """The methods that read what a build observes: those named, or all that `unseen predict` runs unasked."""
    dear = unseen.methods().only_by_name
    methods = {
        name: clone(method)
        for name, method in {**BASELINES, **ORACLES}.items()
        if set(method.needs) <= set(TRACKS["accuracy"].needs)
        and not unmet(method.needs, competition)
        and (name in names if names else not dear[name])
    }
    for name in methods.keys() & ORACLE:
        methods[name].set_params(learning_rate=RATES[competition.subjects[0]])
    return methods


def run(folder: Path, classifier: str, options: argparse.Namespace) -> None:
    """Build the competition of a classifier, or go on, and let its methods predict."""
    chosen = settings(classifier, options.engine, options.precision)
    with sitting(folder, f"build, {classifier}"):
        competition = build(folder / classifier, chosen, TEST_SEED, cache=str(folder / "cache"))
    methods = observed(competition, options.only or [])
    what = "predict" if not options.only else ", ".join(methods)
    with sitting(folder, f"{what}, {classifier}"):
        predict(competition, methods)
    train = [100 * value for value in read_targets(competition, "train").values()]
    print(f"{classifier}, meta-train accuracies: {min(train):.1f} to {max(train):.1f} %")


def scores(competition: Competition) -> list[dict[str, object]]:
    """A line for each method and classifier: RMSE in points, on the validation sets and on each group."""
    rows, lines = solution_of(competition), []
    found, _ = read_methods(competition)
    for method, predictions in found.items():
        for subject in competition.subjects:
            own = [row for row in rows if row.subject == subject]
            papers = PAPER.get(method, (None, None))[CLASSIFIERS.index(subject)]
            parts = {group: [row for row in own if row.group == group] for group in GROUPS}
            lines.append(
                {
                    "method": method,
                    "classifier": subject,
                    "all": score_rows(predictions, own).rmse,
                    **{group: score_rows(predictions, part).rmse for group, part in parts.items()},
                    "paper, its own 40 sets": "" if papers is None else f"{papers:.2f}",
                }
            )
    return sorted(lines, key=lambda line: (str(line["classifier"]), line["all"]))


def costs(folder: Path) -> list[dict[str, object]]:
    """The sittings added up, by what was done, and the size of the cache."""
    with (folder / "sittings.csv").open(newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    disk = sum(file.stat().st_size for file in (folder / "cache").rglob("*") if file.is_file())
    return [
        {
            "what": what,
            "runs": len(own := [line for line in lines if line["what"] == what]),
            "hours": sum(float(line["hours"]) for line in own),
            "processor hours": sum(float(line["processor hours"]) for line in own),
            "peak memory, GB": max(float(line["peak GB"]) for line in own),
            "cache, GB": disk / 1e9,
        }
        for what in dict.fromkeys(line["what"] for line in lines)
    ]


def main() -> None:
    """Build or go on, predict, print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--classifier", action="append", choices=CLASSIFIERS, help="repeatable")
    parser.add_argument("--engine", default="", help="openvino or torch")
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--hours", type=float, default=0, help="stop after so many; the next run goes on")
    parser.add_argument("--only", action="append", metavar="NAME", help="these methods; repeatable")
    parser.add_argument("--write", action="store_true", help="record the tables for docs/results")
    options = parser.parse_args()
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, lambda *_: (_ for _ in ()).throw(SystemExit("stopped: run it again to go on")))
    signal.setitimer(signal.ITIMER_REAL, 3600 * options.hours)
    folder: Path = options.folder
    for classifier in options.classifier or CLASSIFIERS:
        run(folder, classifier, options)
    made = [Competition.open(path) for path in sorted(folder.iterdir()) if (path / "public").is_dir()]
    reached = [line for competition in made for line in scores(competition)]
    for name, lines in {"datacv2023": reached, "datacv2023-cost": costs(folder)}.items():
        print(*lines, sep="\n")
        if options.write:
            record(name, lines)


if __name__ == "__main__":
    main()
