"""SYP's ablations on a competition of your own: the paper's tables 1 to 5 and figure 10.

Paper: Chen, Zhang & Song, "Scoring Your Prediction on Unseen Data", CVPR Workshops 2023. The
tables use the labelled validation sets. `oracle.runs` makes the fits and keeps them.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.container import BarContainer
from sklearn.base import clone

from baselines.contract.estimator import Estimator
from oracle.indicators import SIX
from oracle.ora_a import UNDERTRAINED
from oracle.runs import TRAINING, Run, Runs, fit_rows
from starter.contest.cluster import Cluster
from starter.data.images.figure import new_figure, save_png
from submission import Competition, UnusableInput
from submission.files import read_rows, write_text
from submission.scoretable import ALL, Families, Targets, validation_targets
from submission.table import cell, csv_table, text_table

TABLES = ("1", "2", "3", "4", "5", "fig10")
METHODS = ("rotation", "confscore", "entropy", "atc-datacv", "atc+lr", "fd", "ora-a", "ora-b", "syp")
"""Names of the compared methods: the five baselines of table 1, ATC by its own paper, and the oracles."""
LEGEND = {
    "low": "low, high: the 95 % interval of the RMSE, over families of sets.",
    "paper": "paper: the RMSE that the paper gives, of ResNet-56 or RepVGG-A0 on other sets: only the order "
    "of rows can be compared.",
    "undertrained": "undertrained: fits in which a network gave all training images one answer, to the end "
    "or until it was drawn again.",
}
"""Notes printed below a table, by the column that must hold something."""
PAPER = {
    (row["table"], row["row"]): (float(row["resnet56"]), float(row["repvgg_a0"]))
    for _, row in read_rows(Path(__file__).with_name("paper.csv"), ("table", "row"))
}
"""RMSE that the paper gives, in points, by table and row: of ResNet-56 and of RepVGG-A0.

They are over the 40 validation sets of the DataCV challenge, the baselines of table 1 as in its own table;
those of table 2 are over its 100 test sets, and not told by network.
"""
Lines = list[dict[str, object]]
"""The lines of a table, each with a value by column, in the order of the columns."""


def rows_of(table: str, methods: Mapping[str, Estimator]) -> dict[str, Estimator]:
    """Returns copies of the methods that a table compares, by the label of their row."""
    ora_a = methods["ora-a"]

    def varied(**changes: object) -> Estimator:
        return clone(ora_a).set_params(**changes)

    six = SIX.split(",")
    steps = ora_a.get_params()["iterations"]
    counts = [max(round(steps * third / 3), 1) for third in range(1, 6)]
    tables = {
        "1": {name: clone(methods[name]) for name in METHODS},
        "2": {
            "six indicators": varied(positive_weight=1.0),
            "+ loss adjustment": varied(),
            "+ ora-b": clone(methods["syp"]),
        },
        "3": {
            "entropy": varied(indicators=six[0]),
            "+ atc": varied(indicators=",".join(six[:2])),
            "+ fd": varied(indicators=",".join(six[:3])),
            "+ image indicators": varied(indicators=SIX),
        },
        "4": {f"r = {ratio}": varied(expansion=ratio) for ratio in (2, 4, 6, 8, 10)},
        "5": {name: varied(normalisation=name) for name in ("set", "global", "none")},
        "fig10": {
            **{f"{count} iterations": varied(iterations=count) for count in counts},
            **{f"rate {rate:g}": varied(learning_rate=rate) for rate in (0.01, 0.05, 0.1, 0.2, 0.5)},
        },
    }
    if table not in tables:
        raise UnusableInput(f"there is no table {table!r}; choose from {', '.join(TABLES)}")
    return tables[table]


def ablate(
    competition: Competition,
    table: str,
    methods: Mapping[str, Estimator],
    seeds: int = 1,
    device: str = "cpu",
    cluster: Cluster | None = None,
) -> tuple[Lines, list[Path]]:
    """Fit every row of a table per classifier and seed; write ``DIR/ablation/table<N>.csv`` and ``.png``."""
    rows = rows_of(table, methods)
    if seeds < 1:
        raise UnusableInput(f"--seeds must be at least 1, got {seeds}")
    if not competition.sets("val"):
        raise UnusableInput(f"{competition.root} has no validation sets to ablate on")
    runs = fit_rows(competition, rows, seeds, device, cluster)
    lines = lines_of(validation_targets(competition)[competition.metrics[0]], runs, table)
    stem = competition.out / "ablation" / (table if table.startswith("fig") else f"table{table}")
    written = stem.with_suffix(".csv")
    plot = stem.with_suffix(".png")
    write_text(written, csv_table([[*lines[0]], *([*line.values()] for line in lines)]))
    _plot(plot, table, lines)
    return lines, [written, plot]


def table_text(lines: Lines) -> str:
    """Returns lines as a table of text, with notes on its columns."""
    header = [*lines[0]]
    rows = [
        [cell(value) if isinstance(value, float) else str(value) for value in line.values()] for line in lines
    ]
    notes = [LEGEND[name] for name in LEGEND if any(row[header.index(name)] for row in rows)]
    return "\n".join([text_table([header, *rows]), *notes])


def lines_of(everything: Targets, runs: Runs, table: str) -> Lines:
    """Returns a line for each row, classifier and group: means over seeds, in points, and their deviation."""
    lines: Lines = []
    for (label, subject), found in runs.items():
        targets = everything.of_subject(subject)
        methods = [dict(zip(targets.ids, run.predicted, strict=True)) for run in found]
        for group, part in targets.by_group().items():
            errors = np.array([part.errors(predictions) for predictions in methods])
            rmse = np.sqrt(np.mean(errors**2, axis=1))
            seeds = len(methods)
            families = Families.of(part.family_names * seeds, part.groups * seeds)
            low, high = map(float, families.interval(errors.ravel()))
            training = np.mean([run.training for run in found], axis=0).tolist()
            lines.append(
                {
                    "row": label,
                    "subject": subject,
                    "group": group,
                    "sets": len(part),
                    "seeds": seeds,
                    "rmse": float(np.mean(rmse)),
                    "sd": float(np.std(rmse, ddof=1)) if seeds > 1 else math.nan,
                    "bias": float(np.mean(errors)),
                    "low": low,
                    "high": high,
                    "noise": part.noise_floor,
                    **dict(zip(TRAINING, training, strict=True)),
                    "paper": published(table, label, subject) if group == ALL else math.nan,
                    "undertrained": _undertrained(found),
                }
            )
    return lines


def published(table: str, row: str, subject: str) -> float:
    """Returns the RMSE that the paper gives for a row, or nan; ResNet-56's for classifiers of one's own."""
    return PAPER.get((table, row), (math.nan, math.nan))[subject == "repvgg_a0"]


def _undertrained(runs: Sequence[Run]) -> str:
    """Returns which fits have a network that failed to learn, as "one answer 1, drawn again 2 of 3"."""
    count = {state: sum(run.undertrained == state for run in runs) for state in reversed(UNDERTRAINED[1:])}
    told = ", ".join(f"{state} {times}" for state, times in count.items() if times)
    return f"{told} of {len(runs)}" if told else ""


def _plot(path: Path, table: str, lines: Lines) -> None:
    """Draw the RMSE over all sets: a bar a row and classifier, its interval, and the paper's diamond."""
    frame = pd.DataFrame(line for line in lines if line["group"] == ALL)
    rows, subjects = (frame[name].unique() for name in ("row", "subject"))
    of = {
        name: frame.pivot(index="row", columns="subject", values=name).loc[rows, subjects]
        for name in ("rmse", "low", "high", "sd", "paper", "undertrained")
    }
    ends = [of["rmse"] - of["low"], of["high"] - of["rmse"]]
    errors = np.array([end.fillna(of["sd"]).fillna(0).clip(lower=0).T for end in ends]).swapaxes(0, 1)
    figure = new_figure(1.6 + 0.9 * len(rows), 3.6)
    axes = figure.subplots()
    axes.set_title(table if table.startswith("fig") else f"table {table}", loc="left")
    of["rmse"].plot.bar(
        ax=axes, yerr=errors if errors.any() else None, width=0.8, capsize=3, xlabel="", ylabel="RMSE, points"
    )
    axes.tick_params(axis="x", rotation=30)
    drawn = [bars for bars in axes.containers if isinstance(bars, BarContainer)]
    for subject, bars in zip(subjects, drawn, strict=True):
        for bar, failure in zip(bars, of["undertrained"][subject], strict=True):
            bar.set_hatch("//" if failure else None)
        if of["paper"].notna().any(axis=None):
            places = [bar.get_x() + bar.get_width() / 2 for bar in bars]
            label = "paper" if subject == subjects[0] else None
            axes.plot(places, of["paper"][subject], "D", color="black", markerfacecolor="white", label=label)
    axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, frameon=False)
    save_png(figure, path, dpi=110)
