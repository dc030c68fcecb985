"""The columns of a board on the page and in Markdown: titles, cells, order; empty ones are left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leaderboard.board.table import (
    Board,
    Standing,
    shown,
    shown_count,
    shown_groups,
    shown_interval,
    shown_p,
    shown_ratio,
    shown_score,
    shown_shake_up,
    shown_share,
)


@dataclass(frozen=True)
class Column:
    """One column of a board.

    Attributes:
        title: Heading.
        cells: Text of every line; "" for no text.
        keys: Sort key of every line; lines with an empty key come last.
        best: "ascending" or "descending", the order in which the best line comes first.
        kind: "text"; or "name", "score", "bar", "above", "date" or "history", which the page draws
            differently.
        note: Small text below the title.
    """

    title: str
    cells: tuple[str, ...]
    keys: tuple[object, ...]
    best: str = "ascending"
    kind: str = "text"
    note: str = ""


Text = Callable[[Standing], str]


def columns(board: Board, decimals: int) -> list[Column]:
    """Returns the columns of a board, from left to right, without empty ones."""
    found = [*_scores(board, decimals), *_statistics(board, decimals), *_submissions(board, decimals)]
    return [column for column in found if any(column.cells)]


def _scores(board: Board, decimals: int) -> list[Column]:
    lines, part = board.standings, board.part.capitalize()

    def score(line: Standing) -> str:
        return shown_score(line, decimals, board.detailed)

    return [
        _column(lines, "Rank", lambda line: shown_count(line.rank)),
        _column(
            lines, "Method" if board.part == "validation" else "Team", lambda line: line.name, kind="name"
        ),
        _column(lines, f"{part} score", score, kind="score", note="lower is better"),
        _column(
            lines,
            "95 % interval",
            lambda line: shown_interval(line, decimals) if board.detailed else "",
            lambda line: shown(line.low, decimals),
        ),
        _column(lines, "Score as a bar", score, kind="bar"),
    ]


def _statistics(board: Board, decimals: int) -> list[Column]:
    if not board.detailed:
        return []
    lines = board.standings
    further = [
        _column(lines, f"RMSE {title}", lambda line, at=place: shown(line.further[at], decimals))  # type: ignore[misc]
        for place, title in enumerate(board.further)
    ]
    return [
        _column(lines, "Rank interval", _ranks, lambda line: shown_count(line.best)),
        _column(
            lines,
            "P(first)",
            lambda line: shown_share(line.first),
            lambda line: line.first if shown_share(line.first) else "",
            best="descending",
        ),
        _column(
            lines,
            "p, row above",
            lambda line: shown_p(line.above),
            lambda line: line.above if shown_p(line.above) else "",
            kind="above",
        ),
        _column(
            lines,
            "Group",
            lambda line: shown_groups(line.groups),
            lambda line: line.groups[0] if line.groups else "",
        ),
        _column(lines, "MAE", lambda line: shown(line.score.mae, decimals)),
        _column(
            lines, "Spearman", lambda line: shown_ratio(line.score.spearman, decimals), best="descending"
        ),
        _column(lines, "Skill", lambda line: shown_ratio(line.skill, decimals), best="descending"),
        *further,
    ]


def _submissions(board: Board, decimals: int) -> list[Column]:
    lines = board.standings
    after = [
        _column(
            lines,
            "Public score",
            lambda line: "" if line.public is None else shown(line.public.score.rmse, decimals),
        ),
        _column(
            lines,
            "Public rank",
            lambda line: "" if line.public is None else shown_count(line.public.rank),
        ),
        _column(
            lines, "Shake-up", shown_shake_up, lambda line: shown_count(line.shake_up), best="descending"
        ),
    ]
    return [
        _column(
            lines, "Last submission (UTC)", lambda line: line.last_submission, best="descending", kind="date"
        ),
        _column(lines, "Submissions", lambda line: shown_count(line.submissions or None), best="descending"),
        *(after if board.part == "private" else ()),
        _column(
            lines,
            "Best so far",
            lambda line: shown_count(len(line.history) or None) if board.detailed else "",
            kind="history",
        ),
    ]


def _ranks(line: Standing) -> str:
    return "" if line.best is None else f"{line.best}–{line.worst}"


def _column(
    lines: Sequence[Standing],
    title: str,
    text: Text,
    key: Callable[[Standing], object] | None = None,
    best: str = "ascending",
    kind: str = "text",
    note: str = "",
) -> Column:
    """Returns a column whose lines are sorted by `key`, or by their text."""
    cells = tuple(text(line) for line in lines)
    return Column(title, cells, tuple(map(key, lines)) if key else cells, best, kind, note)
