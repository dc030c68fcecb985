"""Boards of a team and a baseline: a detailed one, and one as it is before the end."""

import math

from leaderboard.columns import Board
from leaderboard.standings import Standing
from submission.metrics import Score

PLACE = {"rank": 1, "low": 2.1, "high": 3.0, "rank_groups": (1, 2), "skill": 0.9375}
SENT = {"last_submission": "2026-01-02 03:04:05", "submissions": 3, "team_id": "tca978112ca"}
TEAM = Standing("a", "team", Score(2.5, 2.0, 0.9, 10), **PLACE, **SENT)  # type: ignore[arg-type]
KIT = Standing("constant", "baseline", Score(5.0, 4.0, math.nan, 10), skill=-0.001, rank_groups=(3,))
BOARD = Board("public", (TEAM, KIT), 2, 1.25)
RUNNING = Board("public", (TEAM, KIT), 2, detailed=False)
