"""``report.html``: the report's tables, charts and pictures of sets in one self-contained page."""

import base64
import math
from pathlib import Path

from baselines.report.panels import indicator_panel, prediction_panel
from baselines.report.report import Line, Report
from starter.competition.show import pictures
from submission.files import write_text
from submission.page import templates
from submission.scoretable import ALL, cell

PICTURED = 8
"""Number of images shown of each validation set."""
LONGEST = 2.0
"""End of drawn intervals, as a multiple of the largest RMSE: those of six families can be very wide."""


def write_report(report: Report, folder: Path) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.csv`` in `folder`, and return their paths.

    A section per subject has a chart and a table of the methods by group with intervals; for each method a
    panel of predicted against true values, and a panel of the indicator for a regression on one indicator;
    and a table of the validation sets with pictures, truths, predictions and errors.
    """
    page = templates(Path(__file__).parent)
    lines = report.lines()
    page.filters["place"] = lambda points, end: f"{98 * points / end:.1f}"
    page.tests["number"] = lambda value: not math.isnan(value)
    text = page.get_template("template.html").render(
        competition=report.competition,
        names=report.competition.sets("val"),
        groups=report.groups,
        subjects=[_section(report, subject, lines) for subject in report.val],
        pictures=[base64.b64encode(jpeg).decode() for jpeg in pictures(report.competition, "val", PICTURED)],
        pictured=PICTURED,
        shown=cell,
    )
    html, table = folder / "report.html", folder / "report.csv"
    write_text(html, text)
    write_text(table, report.csv())
    return html, table


def _section(report: Report, subject: str, lines: list[Line]) -> dict[str, object]:
    """Returns the data of the page about one subject; methods from the best to the worst over all sets."""
    mine = [line for line in lines if line.subject == subject]
    methods = [line.method for line in mine if line.group == ALL]
    found = {run.method: run for run in report.runs if run.subject == subject}
    runs = [found[method] for method in methods]
    true = 100 * report.val[subject]
    ends = [line.rmse if math.isnan(line.high) else line.high for line in mine]
    most = max((line.rmse for line in mine), default=0.0)
    return {
        "name": subject,
        "quantity": report.competition.quantity(subject),
        "span": _span(report, subject),
        "lines": mine,
        "chart": {(line.method, line.group): line for line in mine},
        "groups": list(dict.fromkeys(line.group for line in mine)),
        "methods": methods,
        "end": min(max(ends, default=0.0), LONGEST * most) or 1.0,
        "panels": [prediction_panel(report, run) for run in runs],
        "indicators": [panel for run in runs if (panel := indicator_panel(report, run)) is not None],
        "true": true.tolist(),
        "predicted": {run.method: (100 * run.predicted).tolist() for run in runs},
        "errors": {run.method: (100 * run.predicted - true).tolist() for run in runs},
    }


def _span(report: Report, subject: str) -> str:
    """Returns a sentence on the range of the meta-train targets and the number of validation sets outside."""
    train, val = report.train[subject], report.val[subject]
    low, high = train.min(), train.max()
    outside = int(((val < low) | (val > high)).sum())
    return (
        f"{report.competition.quantity(subject)} on meta-train sets {100 * low:.1f} to "
        f"{100 * high:.1f} %; {outside} of {len(val)} validation sets lie outside that range"
    )
