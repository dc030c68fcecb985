"""``leaderboard.html``: one self-contained page that loads nothing and runs nothing but its own script."""

import base64
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from leaderboard.board.statistics import DRAWS, FEWEST_FAMILIES
from leaderboard.board.table import FEW, Board, shown, shown_interval, shown_p, shown_shake_up, shown_share
from submission.competition import FEEDBACKS, VISIBILITIES, Competition
from submission.page import templates


def leaderboard_html(competition: Competition, boards: Sequence[Board], head: str) -> str:
    """The text of ``leaderboard.html``, every value escaped.

    Its Content-Security-Policy allows the page's own style and script, by their SHA-256, and nothing else.

    Args:
        competition: whose name, visibility, sizes and decimals are shown.
        boards: the public one, after the end below the private one.
        head: the hash of the ledger's last row.
    """
    page = templates(Path(__file__).parent)
    longest = {board.part: _longest(board) for board in boards}
    page.filters["place"] = lambda board, points: f"{99 * points / longest[board.part]:.1f}"
    page.filters |= {"source_hash": _source_hash, "steps": _steps}
    return page.get_template("page.html").render(
        competition=competition,
        visibility=VISIBILITIES[competition.visibility],
        feedback=FEEDBACKS[competition.feedback],
        boards=boards,
        head=head,
        few=FEW,
        families=FEWEST_FAMILIES,
        draws=DRAWS,
        shown=lambda value: shown(value, competition.decimals),
        interval=lambda line: shown_interval(line, competition.decimals),
        share=shown_share,
        bound=shown_p,
        shake_up=shown_shake_up,
    )


def _longest(board: Board) -> float:
    """What the bars of a board end at, in points."""
    ends = [line.score.rmse if math.isnan(line.high) else line.high for line in board.standings]
    return max([board.noise_floor, *ends]) or 1.0


def _steps(history: Sequence[tuple[str, float]]) -> str:
    """The points of a line that falls with the score, in a box of 100 x 20."""
    scores = [score for _, score in history]
    span = max(scores) - min(scores) or 1.0
    return " ".join(
        f"{100 * i / (len(scores) - 1):.0f},{20 * (max(scores) - score) / span:.0f}"
        for i, score in enumerate(scores)
    )


def _source_hash(text: str) -> str:
    """The hash by which a Content-Security-Policy names an inline script or style (CSP 3, 2.3.1)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
