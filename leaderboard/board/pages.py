"""The texts of ``leaderboard.html``, a self-contained page, and ``leaderboard.md``, a table for a README."""

import math
from collections.abc import Sequence
from pathlib import Path

from leaderboard.board.columns import columns
from leaderboard.board.statistics import DRAWS, MOST
from leaderboard.board.table import (
    FEW,
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


DETAILS = ("95 % interval", "ranks", "P(first)", "p, above", "group", "skill")
PARTS = {"public": "the public part", "private": "the private part", "validation": "the validation sets"}


def leaderboard_markdown(competition: Competition, boards: Sequence[Board], head: str) -> str:
    """Returns Markdown with the competition's name, a table per board, and the ledger's head.

    Args:
        competition: The competition, with name, visibility and decimals.
        boards: The private board (after the end), the public one, and that of the validation sets.
        head: Hash of the ledger's newest row.
    """
    blocks = [f"**{escaped(competition.name)}** ({competition.visibility})"]
    for board in boards:
        header = [
            *("Rank", "Team", "RMSE"),
            *(DETAILS if board.detailed else ()),
            "submissions",
            *(f"RMSE {title}" for title in board.further),
            *(("public rank", "shake-up") if board.part == "private" else ()),
        ]
        rows = [header, ["---:", "---", *["---:"] * (len(header) - 2)]]
        rows += [_cells(line, competition.decimals, board) for line in board.standings]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
        floor = shown(board.noise_floor, competition.decimals)
        noise = f"; noise floor {floor}" if board.detailed else ""
        told = f" {board.decided}".rstrip()
        blocks.append(
            f"RMSE of {competition.titles[0]} in points on {PARTS[board.part]}{noise}.{told}\n\n{table}"
        )
    blocks.append(f"Ledger: `{head}`")
    return "\n\n".join(blocks) + "\n"


def _cells(line: Standing, decimals: int, board: Board) -> list[str]:
    team = line.kind == "team"
    after = ["" if line.public is None else shown_count(line.public.rank), shown_shake_up(line)]
    return [
        shown_count(line.rank),
        escaped(line.name) + ("" if team else " (baseline)"),
        shown_score(line, decimals, board.detailed),
        *(_details(line, decimals) if board.detailed else ()),
        str(line.submissions) if team else "",
        *(shown(value, decimals) for value in line.further),
        *(after if board.part == "private" else ()),
    ]


def _details(line: Standing, decimals: int) -> list[str]:
    return [
        shown_interval(line, decimals),
        "" if line.best is None else f"{line.best}–{line.worst}",
        shown_share(line.first),
        shown_p(line.above),
        shown_groups(line.groups),
        shown_ratio(line.skill, decimals),
    ]
