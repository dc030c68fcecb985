"""The texts of ``leaderboard.html``, a self-contained page, and ``leaderboard.md``, a table for a README."""

import math
from collections.abc import Sequence
from pathlib import Path

from leaderboard.board.columns import Column, columns
from leaderboard.board.statistics import DRAWS, MOST
from leaderboard.board.table import FEW, Board, shown, shown_interval
from submission.competition import FEEDBACKS, VISIBILITIES, Competition
from submission.intervals import FEWEST_FAMILIES
from submission.page import escaped, templates


def leaderboard_html(competition: Competition, boards: Sequence[Board], head: str) -> str:
    """Returns the text of ``leaderboard.html``, with every value escaped.

    The page's Content-Security-Policy allows only its own style and script, by their SHA-256. After the end
    the page begins with the private and the public part side by side, with the groups of lines that the
    paired test cannot tell apart. If no team has submitted yet, the page explains how to hand in.

    Args:
        competition: The competition, with name, visibility, sizes and decimals.
        boards: The private board (after the end), the public one, and that of the validation sets.
        head: Hash of the ledger's newest row.
    """
    page = templates(Path(__file__).parent)
    ends = {board.part: _longest([board]) for board in boards}
    both = _longest([board for board in boards if board.part != "validation"])
    page.filters["place"] = lambda points, end: f"{99 * points / end:.1f}"
    page.filters["steps"] = _steps
    page.tests["number"] = lambda value: not math.isnan(value)
    return page.get_template("page.html").render(
        competition=competition,
        visibility=VISIBILITIES[competition.visibility],
        feedback=FEEDBACKS[competition.feedback],
        boards=boards,
        columns={board.part: columns(board, competition.decimals) for board in boards},
        teams=any(line.kind == "team" for board in boards for line in board.standings),
        ends=ends,
        both=both,
        head=head,
        few=FEW,
        families=FEWEST_FAMILIES,
        draws=DRAWS,
        shown=lambda value: shown(value, competition.decimals),
        interval=lambda line: shown_interval(line, competition.decimals),
        most=MOST,
        parts=PARTS,
        lanes=lambda board: max((number for line in board.standings for number in line.groups), default=0),
    )


def _longest(boards: Sequence[Board]) -> float:
    """Returns the largest value of the bars of boards, in points."""
    lines = [line for board in boards for line in board.standings]
    ends = [line.score.rmse if math.isnan(line.high) else line.high for line in lines]
    floors = [board.noise_floor for board in boards]
    return max((end for end in (*floors, *ends) if not math.isnan(end)), default=0.0) or 1.0


def _steps(history: Sequence[tuple[str, float]]) -> str:
    """Returns the points of an SVG line of scores over submissions, in a box of 100 x 20."""
    scores = [score for _, score in history]
    span = max(scores) - min(scores) or 1.0
    return " ".join(
        f"{100 * i / (len(scores) - 1):.0f},{20 * (max(scores) - score) / span:.0f}"
        for i, score in enumerate(scores)
    )


PARTS = {"public": "the public part", "private": "the private part", "validation": "the validation sets"}
PAGE_ALONE = ("bar", "date", "history")
"""Kinds of columns that the Markdown leaves out: bars, lines of scores, and times."""


def leaderboard_markdown(competition: Competition, boards: Sequence[Board], head: str) -> str:
    """Returns Markdown with the competition's name, a table per board, and the ledger's head.

    The tables have the columns of the page, except those of `PAGE_ALONE`.

    Args:
        competition: The competition, with name, visibility and decimals.
        boards: The private board (after the end), the public one, and that of the validation sets.
        head: Hash of the ledger's newest row.
    """
    blocks = [f"**{escaped(competition.name)}** ({competition.visibility})"]
    for board in boards:
        floor = shown(board.noise_floor, competition.decimals)
        noise = f"; noise floor {floor}" if board.detailed else ""
        told = f" {board.decided}".rstrip()
        blocks.append(f"RMSE of {competition.titles[0]} in points on {PARTS[board.part]}{noise}.{told}")
        blocks.append(_table(board, competition.decimals))
    blocks.append(f"Ledger: `{head}`")
    return "\n\n".join(blocks) + "\n"


def _table(board: Board, decimals: int) -> str:
    found = [column for column in columns(board, decimals) if column.kind not in PAGE_ALONE]
    if not found:
        return "No submission yet."
    heads = [(column.title, "---" if column.kind == "name" else "---:") for column in found]
    whole = [(*head, *_cells(column, board)) for head, column in zip(heads, found, strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in zip(*whole, strict=True))


def _cells(column: Column, board: Board) -> Sequence[str]:
    """Returns the cells of a column; names are escaped, and say which of them are baselines."""
    if column.kind != "name":
        return column.cells
    return [escaped(line.name) + ("" if line.kind == "team" else " (baseline)") for line in board.standings]
