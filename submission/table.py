"""Tables of cells of text, the first row their headings: for a terminal, Markdown, a notebook, and CSV."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from html import escape

from submission.files import csv_text


def cell(value: float, decimals: int = 2) -> str:
    """Returns a number as text, never "-0.00"; "" for nan."""
    return "" if math.isnan(value) else f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}"


def text_table(rows: Sequence[Sequence[str]], names: Sequence[int] = (0,)) -> str:
    """Returns rows of cells as text for a terminal; columns `names` are aligned left, the others right."""
    columns = []
    for place, column in enumerate(zip(*rows, strict=True)):
        width = max(map(len, column))
        columns.append([text.ljust(width) if place in names else text.rjust(width) for text in column])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def markdown_table(rows: Sequence[Sequence[str]], names: Sequence[int] = (0,)) -> str:
    """Returns rows of cells as Markdown, the first of them as headings; columns `names` are aligned left."""
    head, *body = rows
    rule = ["---" if column in names else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *body])


def html_table(rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Returns rows of cells as a table for a notebook, the first of them as headings."""
    (head, *body), title = rows, f"<caption>{escape(caption)}</caption>" if caption else ""
    lines = ["".join(f"<td>{escape(text)}</td>" for text in row) for row in body]
    lines = ["".join(f"<th>{escape(text)}</th>" for text in head), *lines]
    return f"<table>{title}{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


class Tabular:
    """A result that prints as a table, and that a notebook shows as one; `_rows` returns its cells."""

    def __str__(self) -> str:
        """Returns the table for a terminal."""
        return text_table(self._rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Returns the table for a notebook."""
        return html_table(self._rows())

    @abstractmethod
    def _rows(self) -> list[list[str]]:
        """Returns the headings, and then the cells of each row."""


def csv_table(rows: Iterable[Sequence[object]], decimals: int = 2) -> str:
    """Returns rows of values as CSV, in which nan is empty."""
    return csv_text(
        [cell(value, decimals) if isinstance(value, float) else value for value in row] for row in rows
    )
