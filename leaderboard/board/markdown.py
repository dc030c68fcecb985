"""``leaderboard.md``: the leaderboard as a table for a README."""

from collections.abc import Sequence

from leaderboard.board.table import (
    Board,
    Standing,
    shown,
    shown_count,
    shown_interval,
    shown_p,
    shown_shake_up,
    shown_share,
)
from submission.competition import Competition
from submission.markdown import escaped

HEADER = ("Rank", "Team", "RMSE", "95 % interval", "ranks", "P(first)", "p, above", "skill", "submissions")


def leaderboard_markdown(competition: Competition, boards: Sequence[Board], head: str) -> str:
    """A table a board, the newest first, below the competition's name and above the ledger's head.

    Args:
        competition: whose name, visibility and decimals are shown.
        boards: the public one, after the end below the private one.
        head: the hash of the ledger's last row.
    """
    blocks = [f"**{escaped(competition.name)}** ({competition.visibility})"]
    for board in boards:
        header = [
            *HEADER,
            *(f"RMSE {title}" for title in board.further),
            *(("public rank", "shake-up") if board.part == "private" else ()),
        ]
        rows = [header, ["---:", "---", *["---:"] * (len(header) - 2)]]
        rows += [_cells(line, competition.decimals, board.part) for line in board.standings]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
        floor = shown(board.noise_floor, competition.decimals)
        blocks.append(f"RMSE in points on the {board.part} part; noise floor {floor}.\n\n{table}")
    blocks.append(f"Ledger: `{head}`")
    return "\n\n".join(blocks) + "\n"


def _cells(line: Standing, decimals: int, part: str) -> list[str]:
    team = line.kind == "team"
    after = ["" if line.public is None else shown_count(line.public.rank), shown_shake_up(line)]
    return [
        shown_count(line.rank),
        escaped(line.name) + ("" if team else " (baseline)"),
        shown(line.score.rmse, decimals),
        shown_interval(line, decimals),
        "" if line.best is None else f"{line.best}–{line.worst}",
        shown_share(line.first),
        shown_p(line.above),
        shown(line.skill, decimals),
        str(line.submissions) if team else "",
        *(shown(value, decimals) for value in line.further),
        *(after if part == "private" else ()),
    ]
