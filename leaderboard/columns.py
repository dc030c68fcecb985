"""The columns of a board, in one list that the CSV, the page, the Markdown and the terminal read."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from leaderboard.pairs import ENOUGH
from leaderboard.standings import Standing
from submission.competition import FEW
from submission.metrics import FEWEST_FAMILIES, INTERVAL_FAMILIES
from submission.page import escaped, harmless
from submission.scoretable import BY_GROUP, GROUPS
from submission.table import cell, csv_table, markdown_table


@dataclass(frozen=True)
class Board:
    """A leaderboard: teams, then methods, the best of each first."""

    part: str  # "public", "private" or "validation"
    standings: tuple[Standing, ...]
    decimals: int
    noise_floor: float = math.nan
    further: tuple[str, ...] = ()  # titles of the first of `Standing.further`
    detailed: bool = True  # or with rank, name, score and number of submissions alone
    asked: tuple[str, ...] = ()  # titles of the columns that are drawn only where they are asked for

    @property
    def where(self) -> str:
        """The name of the part in a sentence."""
        return "the validation sets" if self.part == "validation" else f"the {self.part} part"

    @property
    def teams(self) -> tuple[Standing, ...]:
        """The lines of teams."""
        return tuple(line for line in self.standings if line.kind == "team")

    @property
    def methods(self) -> tuple[Standing, ...]:
        """The lines of methods."""
        return tuple(line for line in self.standings if line.kind != "team")

    @property
    def winners(self) -> tuple[Standing, ...]:
        """The teams with the best private score; none before the end."""
        return tuple(line for line in self.teams if self.part == "private" and line.rank == 1)


def plain(value: Any, decimals: int) -> str:
    """Returns a text or a count as it is."""
    return str(value)


def ratio(value: float, decimals: int) -> str:
    """Returns a correlation or a skill, with at least two decimals."""
    return cell(value, max(decimals, 2))


def end(value: float, decimals: int) -> str:
    """Returns an end of an interval in points, which is rounded to one decimal less than scores."""
    return cell(value, decimals - 1)


def span(ends: tuple[float, float], decimals: int) -> str:
    """Returns an interval in points, such as "4.8–5.3"."""
    return "" if math.isnan(ends[0]) else f"{end(ends[0], decimals)}–{end(ends[1], decimals)}"


@dataclass(frozen=True)
class Column:
    """One column of a board; a `title` or `csv` of "" leaves it out of the page or of the CSV.

    `value` of a line may be None or nan; `format` gives its text with the board's decimals. It is `on`
    "every" board, the "detailed" ones, those of them for which it is "asked", or the one of the "private"
    part. The page draws the kinds "name", "score", "bar", "lanes" and "date" differently.
    """

    title: str
    csv: str
    value: Callable[[Board, Standing], Any]
    format: Callable[[Any, int], str] = plain
    on: str = "every"
    best: str = "ascending"  # order in which the best line comes first
    kind: str = "text"
    legend: str = ""

    def when(self, board: Board) -> bool:
        """Returns True if a board has the column."""
        if self.on == "asked":
            return board.detailed and self.title in board.asked
        return {"every": True, "detailed": board.detailed, "private": board.part == "private"}[self.on]

    def head(self, board: Board) -> str:
        """Returns the heading on a board."""
        if self.kind == "score":
            return f"{board.part.capitalize()} score"
        return "Method" if self.kind == "name" and board.part == "validation" else self.title

    def text(self, board: Board, line: Standing) -> str:
        """Returns the text of a line; "" for no value."""
        value = self.value(board, line)
        return "" if value is None else self.format(value, board.decimals)

    def key(self, board: Board, line: Standing) -> object:
        """Returns the value by which the page sorts a line; "" for none, which comes last."""
        value = self.value(board, line)
        if isinstance(value, tuple):
            value = value[0] if value else None
        return value if self.text(board, line) else ""


INTERVAL = (
    "Of the score: the mean square is taken for a scaled chi-square, whose degrees of freedom come from how "
    "much it varies when one family of sets is left out (at most the number of families). Two teams whose "
    "intervals overlap may still differ: the paired test compares them on the same sets. Given for "
    f"{FEW} or more predictions, of {INTERVAL_FAMILIES} or more families."
)
BY_GROUP_LEGEND = (
    "The root mean square of the RMSEs of the groups of sets, whose columns follow: each group counts alike, "
    "however many sets it has."
)
FIRST = ("Rank", "Team", "Score", "Score as a bar", "Rank group", "Public score", "Change of rank")
"""Titles of the columns of the page's first table after the end."""
COLUMNS = (
    Column(
        "Rank",
        "Rank",
        lambda _, line: line.rank,
        legend="Equal displayed scores share a rank, the earlier submission first.",
    ),
    Column("", "TeamId", lambda _, line: line.team_id or None),
    Column("Team", "TeamName", lambda _, line: line.name, kind="name"),
    Column(
        "Last submission (UTC)",
        "LastSubmissionDate",
        lambda _, line: line.last_submission,
        best="descending",
        kind="date",
    ),
    Column("Score", "Score", lambda _, line: line.score.rmse, cell, kind="score"),
    Column("Score as a bar", "", lambda _, line: line.score.rmse, cell, kind="bar"),
    Column("95 % interval", "", lambda _, line: (line.low, line.high), span, "detailed", legend=INTERVAL),
    Column("Submissions", "SubmissionCount", lambda _, line: line.submissions or None, best="descending"),
    Column("", "Kind", lambda _, line: line.kind),
    Column(
        "MAE",
        "MAE",
        lambda _, line: line.score.mae,
        cell,
        "detailed",
        legend=f"Mean absolute error in points; lower is better. Given for {FEW} or more predictions.",
    ),
    Column(
        "Spearman",
        "Spearman",
        lambda _, line: line.score.spearman,
        ratio,
        "detailed",
        best="descending",
        legend="Rank correlation with the truth, averaged over the subjects; higher is better.",
    ),
    Column(
        "R squared",
        "RSquared",
        lambda _, line: line.score.r_squared,
        ratio,
        "asked",
        best="descending",
        legend="Square of the correlation with the truth, averaged over the subjects; higher is better.",
    ),
    Column(
        "Skill",
        "Skill",
        lambda _, line: line.skill,
        ratio,
        "detailed",
        best="descending",
        legend="1 − (score / score of the baseline “constant”)²; higher is better.",
    ),
    Column("", "NoiseFloor", lambda board, _: board.noise_floor, cell, "detailed"),
    Column("", "ScoreLow", lambda _, line: line.low, end, "detailed"),
    Column("", "ScoreHigh", lambda _, line: line.high, end, "detailed"),
    Column(
        "Rank group",
        "RankGroups",
        lambda _, line: line.rank_groups,
        lambda groups, _: " ".join(map(str, groups)),
        "detailed",
        kind="lanes",
        legend="Two rows of a table share a bar where the paired test does not tell them apart, and share "
        "none where it does (.05 over all pairs of the first 20 rows, adjusted after Holm; from "
        f"{FEWEST_FAMILIES} families on). Below "
        f"{ENOUGH} families a pair also needs mean squares apart by a ninth of its largest family's.",
    ),
    Column(
        "Public score", "PublicScore", lambda _, line: line.public and line.public.score.rmse, cell, "private"
    ),
    Column("Public rank", "PublicRank", lambda _, line: line.public and line.public.rank, plain, "private"),
    Column(
        "Change of rank",
        "ShakeUp",
        lambda _, line: line.shake_up,
        lambda change, _: f"{change:+d}" if change else "0",
        "private",
        best="descending",
        legend="Ranks won (+) or lost (-) from the public to the private part. A team counts with the better "
        "of the submissions it chose, or of its best public ones.",
    ),
)


ASKED = tuple(column.title for column in COLUMNS if column.on == "asked")
"""Titles of the columns that can be asked for."""


def columns(board: Board) -> list[Column]:
    """Returns the columns that a board has, from left to right."""
    further = [_further(place, title) for place, title in enumerate(board.further)]
    return [column for column in (*COLUMNS, *further) if column.when(board)]


def _further(place: int, title: str) -> Column:
    """Returns the column of a metric that does not rank, or of a group of sets."""
    legend = BY_GROUP_LEGEND if title == BY_GROUP else ""
    legend = f"Of {GROUPS[title]}." if title in GROUPS else legend
    return Column(f"RMSE {title}", f"Score {title}", lambda _, line: line.further[place], cell, legend=legend)


def page_columns(board: Board, lines: Sequence[Standing]) -> list[Column]:
    """Returns the columns that the page draws of lines: those with a title and a text in some line."""
    return [
        column
        for column in columns(board)
        if column.title and any(column.text(board, line) for line in lines)
    ]


def board_csv(board: Board) -> str:
    """Returns the board as CSV: Kaggle's columns, then the kit's; names are no formulas to a spreadsheet."""
    found = [column for column in columns(board) if column.csv]
    rows = [[column.csv for column in found]]
    for line in board.standings:
        name = harmless(line.name)
        rows.append([name if column.kind == "name" else column.text(board, line) for column in found])
    return csv_table(rows)


def board_markdown(board: Board) -> str:
    """Returns the board as a table in Markdown: the page's columns without bars and times."""
    found = [column for column in page_columns(board, board.standings) if column.kind not in ("bar", "date")]
    if not found:
        return "No submission yet."
    rows = [[column.head(board) for column in found]]
    for line in board.standings:
        name = escaped(line.name) + ("" if line.kind == "team" else f" ({line.kind})")
        rows.append([name if column.kind == "name" else column.text(board, line) for column in found])
    return markdown_table(rows, [place for place, column in enumerate(found) if column.kind == "name"])
