import math

from leaderboard.board.markdown import leaderboard_markdown
from leaderboard.board.table import Board, Standing
from submission import Competition, Score

TEAM = Standing("Team", "team", Score(2.5, 2.0, 0.9, 10), 0.9375, 1, "2026-01-02 03:04:05", 3, 2.1, 3.0, 1, 2)
KIT = Standing("fd", "baseline", Score(5.0, 4.0, math.nan, 10), math.nan)


def test_the_table_stands_between_name_and_ledger(competition: Competition) -> None:
    assert leaderboard_markdown(competition, [Board("public", (TEAM, KIT), 1.25)], "c0ffee") == (
        "**Two classifiers** (practice)\n\n"
        "RMSE in points on the public part; noise floor 1.25.\n\n"
        "| Rank | Team | RMSE | 95 % interval | ranks | P(first) | p, above | skill | submissions |\n"
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| 1 | Team | 2.50 | 2.1–3.0 | 1–2 |  |  | 0.94 | 3 |\n"
        "|  | fd (baseline) | 5.00 |  |  |  |  |  |  |\n\n"
        "Ledger: `c0ffee`\n"
    )
