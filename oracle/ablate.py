"""SYP's ablations on a competition of your own: the paper's tables 1 to 5 and figure 10.

They use the labelled validation sets. Every fit is kept in ``DIR/ablation/runs``, so that an interrupted
ablation continues where it stopped. The module is long because the tables share rows, runs and files.
"""

import csv
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.base import clone
from tqdm import tqdm

from baselines.contract.estimator import Estimator, asked
from baselines.contract.guard import guarded, predict_one
from baselines.report.report import ALL, family_interval
from oracle.indicators import SIX
from oracle.limits import UNDERTRAINED
from oracle.ora_a import OraA
from oracle.ora_b import OraB
from oracle.oracle import CV, Oracle
from oracle.published import published
from oracle.syp import Syp
from starter.competition.accuracy import ClassifierSubject
from starter.competition.cluster import Cluster
from starter.competition.sets import PublicSets, read_groups
from starter.competition.worker import Work, subjects
from starter.images.figure import new_figure, save_png
from starter.observing.observation import MetaTrain, Observation, Seen
from submission import Competition, UnusableInput, make_id
from submission.arrays import FloatArray
from submission.files import write_text
from submission.metrics import noise_floor
from submission.scoring import read_targets

VERSION = 4
"""Version of the kept fits, to be raised when the same parameters give other predictions."""
TABLES = ("1", "2", "3", "4", "5", "fig10")
METHODS = ("rotation", "confscore", "entropy", "atc-datacv", "atc+lr", "fd", "ora-a", "ora-b", "syp")
"""Names of the compared methods: the five baselines of table 1, ATC by its own paper, and the oracles."""
TRAINING = ("train_threshold", "train_mean", "train_image")
"""Columns with an oracle's errors on the meta-train sets: see `Oracle.training_errors`."""
HEADER = (
    *("row", "subject", "group", "sets", "seeds", "rmse", "sd", "bias", "low", "high", "noise"),
    *(*TRAINING, "paper", "undertrained"),
)
LEGEND = {
    "low": "low, high: the 95 % interval of the RMSE, over families of sets.",
    "paper": "paper: the RMSE that the paper gives, of ResNet-56 or RepVGG-A0 on other sets: only the order "
    "of rows can be compared.",
    "undertrained": "undertrained: fits in which a network gave all training images one answer, to the end "
    "or until it was drawn again.",
}
"""Notes printed below a table, by the column that must hold something."""
Line = tuple[object, ...]
"""A line of a table, with a value for each column in HEADER."""


@dataclass(frozen=True)
class Run:
    """One fit: its predictions (v,), and its errors on the meta-train sets in points.

    The errors are nan if the method is no oracle; `undertrained` is set by oracles only.
    """

    predicted: FloatArray
    training: tuple[float, ...] = (math.nan,) * len(TRAINING)
    undertrained: str = ""


Runs = dict[tuple[str, str], list[Run]]
"""The runs of all seeds by (row, subject)."""
Fitted = dict[str, Estimator]
"""The fitted methods by the key of their run."""


@dataclass(frozen=True)
class Ablation:
    """The results of an ablation.

    Attributes:
        table: Path of the CSV file.
        plot: Path of the PNG file.
        lines: Lines of the CSV file, without its header.
    """

    table: Path
    plot: Path
    lines: list[Line]

    def __str__(self) -> str:
        shown = [HEADER, *((_cell(value) for value in line) for line in self.lines)]
        rows = [list(map(str, line)) for line in shown]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        told = [LEGEND[name] for name in LEGEND if any(row[HEADER.index(name)] for row in rows[1:])]
        return "\n".join([*table, *told])


def rows_of(table: str, methods: Mapping[str, Estimator]) -> dict[str, Estimator]:
    """Returns the methods that a table compares, by the label of their row.

    Args:
        table: Name of the table, one of TABLES.
        methods: Methods of the kit by name, with the parameters that are not varied.

    Raises:
        UnusableInput: the table does not exist.
    """
    ora_a = methods["ora-a"]

    def varied(**changes: object) -> Estimator:
        return clone(ora_a).set_params(**changes)

    six = SIX.split(",")
    steps = ora_a.get_params()["iterations"]
    if table == "1":
        return {name: clone(methods[name]) for name in METHODS}
    if table == "2":
        return {
            "six indicators": varied(positive_weight=1.0),
            "+ loss adjustment": clone(ora_a),
            "+ ora-b": clone(methods["syp"]),
        }
    if table == "3":
        names = ("entropy", "+ atc", "+ fd", "+ image indicators")
        return {
            name: varied(indicators=",".join(six[:count]))
            for name, count in zip(names, (1, 2, 3, 6), strict=True)
        }
    if table == "4":
        return {f"r = {ratio}": varied(expansion=ratio) for ratio in (2, 4, 6, 8, 10)}
    if table == "5":
        return {name: varied(normalisation=name) for name in ("set", "global", "none")}
    if table == "fig10":
        counts = [max(round(steps * third / 3), 1) for third in range(1, 6)]
        rates = (0.01, 0.05, 0.1, 0.2, 0.5)
        return {f"{count} iterations": varied(iterations=count) for count in counts} | {
            f"rate {rate:g}": varied(learning_rate=rate) for rate in rates
        }
    raise UnusableInput(f"there is no table {table!r}; choose from {', '.join(TABLES)}")


def ablate(
    competition: Competition,
    table: str,
    methods: Mapping[str, Estimator],
    seeds: int = 1,
    device: str = "cpu",
    progress: bool = True,
    cluster: Cluster | None = None,
) -> Ablation:
    """Fit every row of a table per classifier and seed; write ``DIR/ablation/table<N>.csv`` and ``.png``.

    Args:
        competition: Competition of the accuracy track, with validation sets.
        table: Name of the table, one of TABLES.
        methods: Methods of the kit by name, with the parameters for all rows.
        seeds: Number of fits of each method that has a seed, with the seeds 0, 1, ...
        device: Device that runs the classifiers.
        progress: True to show progress bars.
        cluster: Cluster that observes and fits instead of this process; the files are the same.

    Raises:
        UnusableInput: the table does not exist, the competition has no validation sets, `seeds` is not
            positive, or a method fails.
    """
    rows = rows_of(table, methods)
    if not competition.sets("val"):
        raise UnusableInput(f"{competition.root} has no validation sets to ablate on")
    if seeds < 1:
        raise UnusableInput(f"--seeds must be at least 1, got {seeds}")
    runs = fit_rows(competition, rows, seeds, device, progress, cluster)
    lines = lines_of(competition, runs, list(read_groups(competition).values()), table)
    stem = competition.root / "ablation" / (table if table.startswith("fig") else f"table{table}")
    _write_csv(stem.with_suffix(".csv"), lines)
    _plot(stem.with_suffix(".png"), table, lines)
    return Ablation(stem.with_suffix(".csv"), stem.with_suffix(".png"), lines)


def fit_rows(
    competition: Competition,
    rows: Mapping[str, Estimator],
    seeds: int,
    device: str = "cpu",
    progress: bool = True,
    cluster: Cluster | None = None,
) -> Runs:
    """Fit each method per classifier and seed, or read the fits that an earlier run has kept.

    Args:
        competition: Competition of the accuracy track, with validation sets.
        rows: Methods by the label of their row.
        seeds: Number of fits of each method that has a seed, with the seeds 0, 1, ...
        device: Device that runs the classifiers.
        progress: True to show progress bars.
        cluster: Cluster that observes and fits instead of this process.

    Raises:
        UnusableInput: a method fails.
    """
    needs = asked(rows.values(), competition)
    if cluster:
        cluster.observe(competition, needs, ("train", "val"), device, source=True)
        _fit_there(competition, rows, seeds, needs, device, cluster)
    sets, runs = PublicSets(competition), Runs()
    for name in competition.subjects:
        fitted: Fitted = {}
        subject = ClassifierSubject.open(sets, name, needs, device)
        meta, observed = subject.meta_train(progress), subject.observations("val", progress)
        for label, method in tqdm(rows.items(), f"rows, {name}", disable=None if progress else True):
            runs[label, name] = [
                _run(competition, name, label, each, meta, observed, fitted)
                for each in _seeded(method, seeds)
            ]
    return runs


def _seeded(method: Estimator, seeds: int) -> list[Estimator]:
    """Returns a copy of the method for each seed, or the method alone if it has no seed."""
    if "seed" not in method.get_params():
        return [method]
    return [clone(method).set_params(seed=seed) for seed in range(seeds)]


def _run(
    competition: Competition,
    subject: str,
    label: str,
    method: Estimator,
    meta: MetaTrain,
    observed: Sequence[Observation],
    fitted: Fitted,
) -> Run:
    """Returns one fit, read from disk if it was made before; a new fit of an oracle is added to `fitted`."""
    key = _key(method, subject, competition)
    found = _read(_path(competition, key), len(observed))
    if found is None:
        with guarded(label, f"fit for {subject}", method):
            model = _fit(method, subject, competition, meta, fitted)
        if isinstance(model, OraA):
            fitted[key] = model
        found = _tried(label, model, subject, meta, observed)
        _keep(_path(competition, key), found)
    return found


def _tried(label: str, model: Estimator, subject: str, meta: MetaTrain, observed: Sequence[Seen]) -> Run:
    """Returns what a fitted method predicts."""
    with guarded(label, f"predict for {subject}", model):
        found = Run(np.array([predict_one(model, observation) for observation in observed]))
    if isinstance(model, Oracle):
        errors = model.training_errors(meta)
        training = tuple(100 * error for error in errors.values())
        found = replace(found, training=training, undertrained=model.undertrained_)
    return found


def _fit_there(
    competition: Competition,
    rows: Mapping[str, Estimator],
    seeds: int,
    needs: tuple[str, ...],
    device: str,
    cluster: Cluster,
) -> None:
    """Have a cluster make each run that is not on disk yet, a task each; SYP trains both networks anew."""
    every = [
        (subject, label, clone(each))
        for subject in competition.subjects
        for label, method in rows.items()
        for each in _seeded(method, seeds)
    ]
    paths = [_path(competition, _key(each, subject, competition)) for subject, _, each in every]
    count = len(competition.sets("val"))
    left = [(job, path) for job, path in zip(every, paths, strict=True) if _read(path, count) is None]
    if not left:
        return
    jobs = [job for job, _ in left]
    for number, done in cluster.each(competition, needs, device, fitted_there, jobs, "ablate"):
        if done.problem:
            raise UnusableInput(done.problem)
        _keep(left[number][1], done.value)


def fitted_there(work: Work, subject: str, label: str, method: Estimator) -> Run:
    """Returns one fit, made on a worker of a cluster.

    Raises:
        UnusableInput: the method fails.
    """
    chosen = subjects(work)[subject]
    meta, observed = chosen.meta_train(progress=False), chosen.observations("val", progress=False)
    with guarded(label, f"fit for {subject}", method):
        model = clone(method).fit(meta)
    return _tried(label, model, subject, meta, observed)


def _path(competition: Competition, key: str) -> Path:
    """Returns where a run is kept."""
    return competition.root / "ablation" / "runs" / f"{key}.json"


def _keep(path: Path, run: Run) -> None:
    kept = {"predicted": run.predicted.tolist(), "training": [*run.training]}
    write_text(path, json.dumps({**kept, "undertrained": run.undertrained}) + "\n")


def _fit(
    method: Estimator, subject: str, competition: Competition, meta: MetaTrain, fitted: Fitted
) -> Estimator:
    """Returns the fitted method; SYP is joined from its two networks if both were trained already."""
    if isinstance(method, Syp) and CV not in method.get_params().values():
        first, second = (fitted.get(_key(each, subject, competition)) for each in method.members())
        if isinstance(first, OraA) and isinstance(second, OraB):
            return clone(method).join(first, second)
    return clone(method).fit(meta)


def _key(method: Estimator, subject: str, competition: Competition) -> str:
    """Returns a hash of everything on which a fit's predictions depend."""
    described = repr((VERSION, type(method).__name__, _described(method), subject, competition.files))
    return hashlib.sha256(described.encode()).hexdigest()[:32]


def _described(method: Estimator) -> list[tuple[str, str]]:
    """Returns the parameters of a method as text; a function is given by its name."""
    return [
        (name, getattr(value, "__qualname__", repr(value)))
        for name, value in sorted(method.get_params().items())
    ]


def _read(path: Path, count: int) -> Run | None:
    """Returns the run that an earlier ablation kept; None if there is none, or it is damaged."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        predicted, training = np.array(kept["predicted"], np.float64), tuple(map(float, kept["training"]))
        run = Run(predicted, training, str(kept.get("undertrained", "")))  # fits of before do not say
    except (OSError, ValueError, TypeError, KeyError):
        return None
    whole = run.predicted.shape == (count,) and len(run.training) == len(TRAINING)
    return run if whole and np.isfinite(run.predicted).all() else None


def lines_of(competition: Competition, runs: Runs, keys: Sequence[tuple[str, str]], table: str) -> list[Line]:
    """Returns a line for each row, classifier and group.

    RMSE and bias are means over seeds, in points, and sd is the standard deviation of the RMSE over seeds.
    The training errors are over all meta-train sets, in the line of every group.

    Args:
        competition: Competition of the runs.
        runs: Result of `fit_rows`.
        keys: Group and family of each validation set.
        table: Name of the table, one of TABLES, whose numbers in the paper are given on the lines of all
            sets.
    """
    families = list(keys)
    targets, names = read_targets(competition, "val"), competition.sets("val")
    sizes = np.array(list(competition.sizes["val"].values()))
    lines: list[Line] = []
    for (label, subject), found in runs.items():
        truth = np.array([targets[make_id(subject, name)] for name in names])
        for group in [ALL, *sorted({group for group, _ in families})]:
            chosen = np.flatnonzero([group in (ALL, mine) for mine, _ in families])
            errors = [100 * (run.predicted - truth)[chosen] for run in found]
            rmse = [math.sqrt(np.mean(each**2)) for each in errors]
            spread = float(np.std(rmse, ddof=1)) if len(rmse) > 1 else math.nan
            low, high = family_interval(np.concatenate(errors), [families[i] for i in chosen] * len(errors))
            noise = noise_floor(truth[chosen], sizes[chosen])
            lines.append(
                (
                    label,
                    subject,
                    group,
                    len(chosen),
                    len(rmse),
                    float(np.mean(rmse)),
                    spread,
                    float(np.mean(errors)),
                    low,
                    high,
                    noise,
                    *np.mean([run.training for run in found], axis=0).tolist(),
                    published(table, label, subject) if group == ALL else math.nan,
                    _undertrained(found),
                )
            )
    return lines


def _undertrained(runs: Sequence[Run]) -> str:
    """Returns which fits have a network that failed to learn, as "one answer 1, drawn again 2 of 3"."""
    count = {state: sum(run.undertrained == state for run in runs) for state in reversed(UNDERTRAINED[1:])}
    told = ", ".join(f"{state} {times}" for state, times in count.items() if times)
    return f"{told} of {len(runs)}" if told else ""


def _write_csv(path: Path, lines: Sequence[Line]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows([_cell(value) for value in line] for line in lines)
    write_text(path, text.getvalue())


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.2f}"
    return value


def _plot(path: Path, table: str, lines: Sequence[Line]) -> None:
    """Draw the RMSE over all validation sets: a bar for each row and classifier.

    The line in it is the 95 % interval, or the deviation over seeds if that is unknown; a diamond is the
    paper's number; hatched bars have a network that failed to learn.
    """
    rows = [line for line in lines if line[2] == ALL]
    labels = list(dict.fromkeys(str(line[0]) for line in rows))
    subjects = list(dict.fromkeys(str(line[1]) for line in rows))
    drawn = new_figure(1.6 + 0.9 * len(labels), 3.6)
    axes, width = drawn.subplots(), 0.8 / len(subjects)
    for number, subject in enumerate(subjects):
        mine = [line for line in rows if line[1] == subject]
        places = np.arange(len(mine)) + width * (number - (len(subjects) - 1) / 2)
        heights = np.array([float(str(line[5])) for line in mine])
        spread, low, high, paper = (
            np.array([float(str(line[HEADER.index(name)])) for line in mine])
            for name in ("sd", "low", "high", "paper")
        )
        below, above = (np.where(np.isnan(low), spread, end) for end in (heights - low, high - heights))
        errors = np.nan_to_num([below, above]).clip(0)
        bars = axes.bar(
            places, heights, width, yerr=errors if errors.any() else None, label=subject, capsize=3
        )
        for bar, line in zip(bars, mine, strict=True):
            bar.set_hatch("//" if line[-1] else None)
        if np.isfinite(paper).any():
            label = "paper" if number == 0 else None
            axes.plot(places, paper, "D", color="black", markerfacecolor="white", markersize=5, label=label)
    axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
    axes.set_ylabel("RMSE, points")
    axes.set_title(table if table.startswith("fig") else f"table {table}", loc="left")
    axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, frameon=False)
    save_png(drawn, path, dpi=110)
