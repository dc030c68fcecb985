"""The kit's methods by name, and the functions that run methods: `unseen.evaluate` and `unseen.predict`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from baselines import BASELINES, OOD_BASELINES
from baselines.contract.estimator import Estimator
from baselines.run.choose import Given, methods_given
from leaderboard.standings import told_apart, validation_report
from oracle import ORACLES
from submission.competition import Competition
from submission.errors import UnusableInput
from submission.files import write_bytes
from submission.pack import AnyCompetition, competition_of
from submission.scoretable import legend, tables_of
from submission.scoring import validate
from submission.table import html_table
from submission.tracks import require_track

if TYPE_CHECKING:
    from baselines.report.report import Report
    from starter.data.images.figure import Drawn

DEFAULT = {
    "accuracy": (
        *("constant", "confscore", "entropy", "atc", "fd", "rotation", "cott", "nuclear", "agreement"),
        *("ora-a", "gated"),
    ),
    "ood": (
        *("constant", "confident", "auto-eval", "gscore-kmeans", "gscore-gmm-w", "gscore-ude-w"),
        *("plugin-mpe", "gscore-best"),
    ),
}
"""Methods that run if none is named, by track."""
SLOW = ("ora-a", "ora-b", "syp")
"""Methods that train for minutes to hours per classifier: they run if they are named."""


@cache
def methods_of(track: str) -> dict[str, Estimator]:
    """Returns the prototypes of the kit's methods for a track, by name; clone one before you fit it."""
    kit = {"accuracy": {**BASELINES, **ORACLES}, "ood": OOD_BASELINES}
    return kit[require_track(track)]


def runs(track: str) -> dict[str, str]:
    """Returns when each method of a track runs: "by default", "with --all" or "if named"."""
    found = {name: "by default" if name in DEFAULT[track] else "with --all" for name in methods_of(track)}
    return {name: "if named" if name in SLOW else when for name, when in found.items()}


def methods(track: str = "accuracy") -> pd.DataFrame:
    """Returns a table of the kit's methods, one row per method.

    >>> import unseen
    >>> unseen.methods().loc["fd", "needs"]
    ('moments',)

    Args:
        track: "accuracy" or "ood".

    Returns:
        A table indexed by name, with the columns `summary` (with the source), `needs` (fields of a set that
        the method reads besides the logits), `parameters`, and `runs` ("by default", "with --all" or "if
        named").
    """
    kit = methods_of(track)
    when = runs(track)
    rows = {name: (each.summary, each.needs, each.parameters(), when[name]) for name, each in kit.items()}
    columns = ["summary", "needs", "parameters", "runs"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("method")


class Evaluation(pd.DataFrame):
    """The result of `unseen.evaluate`: a row per method, subject and group of validation sets, in points.

    The columns are those of `baselines.report.report.Line`: method, subject, group ("all" has every set),
    sets, families, rmse with its 95 % interval low and high, skill, mae, spearman, r_squared, noise. Printed,
    it is the table of `unseen score --val`; `to_string` shows it in full. Selections are plain DataFrames.
    """

    _metadata = ["report"]  # noqa: RUF012 a list, to which pandas adds when it pickles
    report: "Report"

    def __repr__(self) -> str:
        """Returns the scores over all sets for a terminal, a line for each method; `to_string` has all."""
        return validation_report(self.report.competition, self.report.predictions)

    def _repr_html_(self) -> str:
        """Returns the same tables for a notebook."""
        report, methods = self.report, self.report.with_constant
        titled = tables_of(report.competition, report.targets, methods).items()
        below = [legend(group for group, _ in report.groups)]
        below += (told_apart(part, methods) for part in report.targets.values())
        tables = [html_table(rows, title) for title, rows in titled]
        return "".join([*tables, *(f"<p>{escape(text)}</p>" for text in below)])

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def predictions(self) -> pd.DataFrame:
        """Returns the predictions for the validation sets, by id: group, target, and a column per method."""
        parts = self.report.targets.values()
        groups = {name: group for part in parts for name, group in zip(part.ids, part.groups, strict=True)}
        targets = {name: value for part in parts for name, value in part.by_id().items()}
        columns = {"group": groups, "target": targets, **self.report.predictions}
        ids = list(self.report.competition.ids("val"))
        return pd.DataFrame(columns).loc[ids].rename_axis("id")

    def plot(self) -> "Drawn":  # type: ignore[override]
        """Returns a figure of predicted against true values of the validation sets.

        It has one panel per method and subject. A notebook shows the figure; `savefig` writes it.
        """
        from baselines.report.page import draw_predictions
        from starter.data.images.figure import new_panels

        report = self.report
        figure, panels = new_panels(len(report.runs), most=4, width=3.4, height=3.4)
        for axes, run in zip(panels, report.runs, strict=False):
            draw_predictions(axes, report, run)
            axes.set_title(run.method if len(report.val) == 1 else f"{run.method}, {run.subject}", fontsize=9)
        panels[0].legend(fontsize=7)
        return figure


def evaluate(
    contest: AnyCompetition,
    methods: Given | Sequence[Given] | Mapping[str, Given],
    device: str = "cpu",
    note: str = "",
) -> Evaluation:
    """Fit methods on the meta-train sets and compare them on the validation sets.

    >>> import unseen
    >>> from sklearn.linear_model import Ridge
    >>> scores = unseen.evaluate(unseen.open("contest"), ["constant", "atc", Ridge()])
    >>> sorted(scores[scores.group == "all"].method)
    ['Ridge', 'atc', 'constant']

    Args:
        contest: A competition with validation sets, or its path.
        methods: Names of the kit's methods, or ``module:Class``; methods of your own; or regressors and
            pipelines of scikit-learn, which learn from `Contest.features`. A mapping gives the methods'
            names; otherwise a method is named after its class and the parameters that were set.
        device: Device that runs the classifiers, and methods given by name that train.
        note: Remark for ``runs.csv`` in the competition's folder, which gets a line for each method.

    Returns:
        The scores, in points, by method, subject and group.

    Raises:
        UnusableInput: there are no validation sets, or a method fails or breaks the contract; the message
            names the method.
    """
    contest = competition_of(contest)
    chosen = methods_given(methods, methods_of(contest.track), contest.track, device)
    report = compared(contest, chosen, device, note)
    table = Evaluation([asdict(line) for line in report.lines])
    table.report = report
    return table


def compared(
    contest: Competition,
    chosen: Mapping[str, Estimator],
    device: str,
    note: str,
    intervals: bool = False,
) -> "Report":
    """Returns the report of the chosen methods, each of which gets a line in ``runs.csv``."""
    from baselines.report.report import run_report  # loads torch, which `unseen methods` does without
    from baselines.run.predict import log_run

    report = run_report(contest, chosen, device, intervals)
    for name, method in chosen.items():
        log_run(contest, name, method, report.rmse(name), note)
    return report


def predict(
    contest: AnyCompetition,
    method: Given | dict[str, Given],
    out: Path | str | None = None,
    device: str = "cpu",
    note: str = "",
) -> Path:
    """Fit a method, predict the test sets, and write a valid submission.

    >>> import unseen
    >>> contest = unseen.open("contest")
    >>> unseen.predict(contest, "atc", out="mine.csv").name
    'mine.csv'

    Args:
        contest: The competition, or its path.
        method: A name, a method, or a scikit-learn regressor, as for `unseen.evaluate`; or ``{name:
            method}``.
        out: Path of the submission, ``.csv``. In any case the predictions of the test sets are also written
            to ``submissions/`` in the competition's folder, under the method's name, and those of the
            validation sets to ``validation/``.
        device: Device that runs the classifiers, and methods given by name that train.
        note: Remark for ``runs.csv`` in the competition's folder.

    Returns:
        The path of the file to hand in.

    Raises:
        UnusableInput: the method fails or breaks the contract, or `out` is not a possible path.
    """
    from baselines.run.predict import predict as run

    contest = competition_of(contest)
    chosen = methods_given(method, methods_of(contest.track), contest.track, device)
    if len(chosen) != 1:
        raise UnusableInput(f"a submission is made by one method, not by {len(chosen)}")
    place = contest.check_output(Path(out), ".csv") if out is not None else None
    (paths,) = run(contest, chosen, device, note=note).values()
    validate(contest, paths["test"])
    if place is None:
        return paths["test"]
    write_bytes(place, paths["test"].read_bytes())
    return place
