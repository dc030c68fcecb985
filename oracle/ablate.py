"""SYP's ablations on a competition of your own: the paper's tables 1 to 5 and figure 10.

They use the labelled validation sets. `oracle.runs` makes the fits and keeps them.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone

from baselines.contract.estimator import Estimator
from baselines.report.report import ALL, family_interval
from oracle.indicators import SIX
from oracle.limits import UNDERTRAINED
from oracle.published import published
from oracle.runs import TRAINING, Run, Runs, fit_rows
from starter.competition.cluster import Cluster
from starter.competition.sets import read_groups
from starter.images.figure import new_figure, save_png
from submission import Competition, UnusableInput, make_id
from submission.files import write_text
from submission.metrics import noise_floor
from submission.scoring import read_targets

TABLES = ("1", "2", "3", "4", "5", "fig10")
METHODS = ("rotation", "confscore", "entropy", "atc-datacv", "atc+lr", "fd", "ora-a", "ora-b", "syp")
"""Names of the compared methods: the five baselines of table 1, ATC by its own paper, and the oracles."""
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
Line = Mapping[str, object]
"""A line of a table: a value for each column in HEADER, in its order."""


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
        rows = [[*HEADER], *([str(_cell(value)) for value in line.values()] for line in self.lines)]
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


def lines_of(
    competition: Competition, runs: Runs, families: Sequence[tuple[str, str]], table: str
) -> list[Line]:
    """Returns a line for each row, classifier and group.

    RMSE and bias are means over seeds, in points, and sd is the standard deviation of the RMSE over seeds.
    The training errors are over all meta-train sets, in the line of every group.

    Args:
        competition: Competition of the runs.
        runs: Result of `fit_rows`.
        families: Group and family of each validation set.
        table: Name of the table, one of TABLES, whose numbers in the paper are given on the lines of all
            sets.
    """
    targets, names = read_targets(competition, "val"), competition.sets("val")
    sizes = np.array(list(competition.sizes["val"].values()))
    lines: list[Line] = []
    for (label, subject), found in runs.items():
        truth = np.array([targets[make_id(subject, name)] for name in names])
        for group in [ALL, *sorted({group for group, _ in families})]:
            chosen = np.flatnonzero([group in (ALL, mine) for mine, _ in families])
            errors = [100 * (run.predicted - truth)[chosen] for run in found]
            rmse = [math.sqrt(np.mean(each**2)) for each in errors]
            theirs = [families[int(i)] for i in chosen] * len(errors)
            low, high = family_interval(np.concatenate(errors), theirs)
            training = np.mean([run.training for run in found], axis=0).tolist()
            lines.append(
                {
                    "row": label,
                    "subject": subject,
                    "group": group,
                    "sets": len(chosen),
                    "seeds": len(rmse),
                    "rmse": float(np.mean(rmse)),
                    "sd": float(np.std(rmse, ddof=1)) if len(rmse) > 1 else math.nan,
                    "bias": float(np.mean(errors)),
                    "low": low,
                    "high": high,
                    "noise": noise_floor(truth[chosen], sizes[chosen]),
                    **dict(zip(TRAINING, training, strict=True)),
                    "paper": published(table, label, subject) if group == ALL else math.nan,
                    "undertrained": _undertrained(found),
                }
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
    writer.writerows([_cell(value) for value in line.values()] for line in lines)
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
    rows = [line for line in lines if line["group"] == ALL]
    labels, subjects = (list(dict.fromkeys(str(line[name]) for line in rows)) for name in ("row", "subject"))
    drawn = new_figure(1.6 + 0.9 * len(labels), 3.6)
    axes, width = drawn.subplots(), 0.8 / len(subjects)
    for number, subject in enumerate(subjects):
        mine = [line for line in rows if line["subject"] == subject]
        places = np.arange(len(mine)) + width * (number - (len(subjects) - 1) / 2)
        heights, spread, low, high, paper = (
            np.array([line[name] for line in mine], np.float64)
            for name in ("rmse", "sd", "low", "high", "paper")
        )
        below, above = (np.where(np.isnan(low), spread, end) for end in (heights - low, high - heights))
        errors = np.nan_to_num([below, above]).clip(0)
        bars = axes.bar(
            places, heights, width, yerr=errors if errors.any() else None, label=subject, capsize=3
        )
        for bar, line in zip(bars, mine, strict=True):
            bar.set_hatch("//" if line["undertrained"] else None)
        if np.isfinite(paper).any():
            label = "paper" if number == 0 else None
            axes.plot(places, paper, "D", color="black", markerfacecolor="white", markersize=5, label=label)
    axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
    axes.set_ylabel("RMSE, points")
    axes.set_title(table if table.startswith("fig") else f"table {table}", loc="left")
    axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, frameon=False)
    save_png(drawn, path, dpi=110)
