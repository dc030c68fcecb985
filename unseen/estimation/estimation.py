"""The answer of an estimate: its data (`estimates`), its page (`page`) and a budget of labels (`budget`)."""

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from submission.files import write_text
from submission.page import harmless
from unseen.estimation import budget, page
from unseen.estimation.estimates import Estimates
from unseen.estimation.page import NO_PHOTOS, Photos

if TYPE_CHECKING:
    from starter.data.images.figure import Drawn


class Estimation(Estimates):
    """The estimates for all sets, with a check on the labelled images themselves.

    Printed, in a notebook too, they are a table. `Estimates` says what their fields are.
    """

    def ask(self, count: int) -> pd.DataFrame:
        """Returns `count` images of each set to label: columns set, row and label, which is empty.

        A larger count adds images to those of a smaller one.
        """
        return budget.draw(self, count)

    def answered(self, path: Path | str) -> "Estimation":
        """Returns the estimates with the labels in a CSV, such as `ask` gives; some may be missing."""
        return budget.answered(self, budget.read_answers(Path(path), self))

    def plot(self) -> "Drawn":
        """Returns a chart of the estimates with their intervals, in the order of the sets."""
        return page.chart_of(self)

    def __str__(self) -> str:
        """Returns the check, the table and the remarks, for a terminal."""
        return page.text_of(self)

    def _repr_html_(self) -> str:
        """Returns the same text for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def html(self, photos: Photos = NO_PHOTOS) -> str:
        """Returns a page that loads nothing; of sets in `photos` it shows images to label."""
        return page.page_of(self, photos)

    def to_json(self, fail_below: float | None = None, fail_on: str = "likely") -> str:
        """Returns all numbers as JSON, and the sets that are below a limit (`below`)."""
        return page.json_of(self, fail_below, fail_on)


def write_estimation(
    estimation: Estimation,
    folder: Path,
    photos: Photos = NO_PHOTOS,
    fail_below: float | None = None,
    fail_on: str = "likely",
) -> tuple[Path, ...]:
    """Write ``estimate.html``, ``.csv`` and ``.json`` and return their paths."""
    html, csv, data = (folder / f"estimate.{kind}" for kind in ("html", "csv", "json"))
    write_text(html, estimation.html(photos))
    table = estimation.table.rename(index=harmless)
    write_text(csv, table.to_csv(float_format="%.6f", lineterminator="\n"))
    write_text(data, estimation.to_json(fail_below, fail_on))
    return html, csv, data
