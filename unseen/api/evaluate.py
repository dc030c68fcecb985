"""Comparison of methods on the labelled validation sets: a table that can be plotted."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from baselines.report.page import draw_predictions
from baselines.report.report import Report, run_report
from baselines.run.choose import Given, methods_given
from baselines.run.predict import log_run
from starter.images.figure import Drawn, new_figure
from submission import Competition, make_id
from unseen.api.kit import methods_of

WIDTH = 3.4
"""Width and height of a panel in inches."""
ACROSS = 4
"""Number of panels in a row."""


class Evaluation(pd.DataFrame):
    """The result of `unseen.evaluate`: a row per method, subject and group of validation sets, in points.

    The columns are those of `baselines.report.report.Line`: method, subject, group ("all" has every set),
    sets, families, rmse with its 95 % interval low and high, skill, mae, spearman, noise. Selections from the
    table are plain DataFrames.
    """

    _metadata = ["report"]  # noqa: RUF012 a list, to which pandas adds when it pickles
    report: Report

    @classmethod
    def of(cls, report: Report) -> "Evaluation":
        """Returns the table of a report."""
        table = cls([asdict(line) for line in report.lines()])
        table.report = report
        return table

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def predictions(self) -> pd.DataFrame:
        """Returns the predictions for the validation sets, by id: group, target, and a column per method."""
        report = self.report
        found = {}
        for subject, true in report.val.items():
            runs = {run.method: run.predicted for run in report.runs if run.subject == subject}
            for i, name in enumerate(report.competition.sets("val")):
                values = {method: predicted[i] for method, predicted in runs.items()}
                found[make_id(subject, name)] = {"group": report.groups[i][0], "target": true[i], **values}
        return pd.DataFrame.from_dict(found, orient="index").rename_axis("id")

    def plot(self) -> Drawn:  # type: ignore[override]
        """Returns a figure of predicted against true values of the validation sets.

        It has one panel per method and subject. A notebook shows the figure; `savefig` writes it.
        """
        report = self.report
        rows, columns = math.ceil(len(report.runs) / ACROSS), min(len(report.runs), ACROSS)
        figure = new_figure(WIDTH * columns, WIDTH * rows)
        panels = np.ravel(figure.subplots(rows, columns, squeeze=False))
        for axes, run in zip(panels, report.runs, strict=False):
            draw_predictions(axes, report, run)
            axes.set_title(run.method if len(report.val) == 1 else f"{run.method}, {run.subject}", fontsize=9)
        for axes in panels[len(report.runs) :]:
            axes.set_axis_off()
        panels[0].legend(fontsize=7)
        return figure


def evaluate(
    contest: Competition,
    methods: Given | Sequence[Given] | Mapping[str, Given],
    device: str = "cpu",
    note: str = "",
    progress: bool = False,
) -> Evaluation:
    """Fit methods on the meta-train sets and compare them on the validation sets.

    >>> import unseen
    >>> from sklearn.linear_model import Ridge
    >>> scores = unseen.evaluate(unseen.open("contest"), ["constant", "atc", Ridge()])
    >>> sorted(scores[scores.group == "all"].method)
    ['Ridge', 'atc', 'constant']

    Args:
        contest: A competition with validation sets.
        methods: Names of the kit's methods, or ``module:Class``; methods of your own; or regressors and
            pipelines of scikit-learn, which learn from `Contest.features`. A mapping gives the methods'
            names; otherwise a method is named after its class and the parameters that were set.
        device: Device that runs the classifiers.
        note: Remark for ``runs.csv`` in the competition's folder, which gets a line for each method.
        progress: True to show progress bars.

    Returns:
        The scores, in points, by method, subject and group.

    Raises:
        UnusableInput: there are no validation sets, or a method fails or breaks the contract; the message
            names the method.
    """
    chosen = methods_given(methods, methods_of(contest.track), contest.track)
    report = run_report(contest, chosen, device, progress)
    for name, method in chosen.items():
        log_run(contest, name, method, report.rmse(name), note)
    return Evaluation.of(report)
