"""The CSV and the Markdown of a board: golden texts of two lines."""

import csv
import io
import math
from dataclasses import replace

import pytest
from boards import BOARD, KIT, RUNNING, TEAM

from leaderboard.columns import Board, board_csv, board_markdown, columns
from submission.metrics import Score


def test_the_csv_has_kaggles_columns_then_ours():
    assert board_csv(BOARD) == (
        "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount,Kind,MAE,Spearman,Skill,NoiseFloor,"
        "ScoreLow,ScoreHigh,RankGroups\n"
        "1,tca978112ca,a,2026-01-02 03:04:05,2.50,3,team,2.00,0.90,0.94,1.25,2.1,3.0,1 2\n"
        ",,constant,,5.00,,baseline,4.00,,0.00,1.25,,,3\n"
    )


def test_while_it_runs_there_are_ranks_scores_and_counts_alone():
    assert board_csv(RUNNING) == (
        "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount,Kind\n"
        "1,tca978112ca,a,2026-01-02 03:04:05,2.50,3,team\n"
        ",,constant,,5.00,,baseline\n"
    )
    assert board_markdown(RUNNING) == (
        "| Rank | Team | Public score | Submissions |\n"
        "| ---: | --- | ---: | ---: |\n"
        "| 1 | a | 2.50 | 3 |\n"
        "|  | constant (baseline) | 5.00 |  |"
    )


def test_the_private_csv_has_the_public_score_and_the_shake_up_and_further_metrics_come_last():
    final = replace(TEAM, rank=3, public=TEAM, further=(7.0,))
    found = Board("private", (final, replace(KIT, further=(math.nan,))), 2, further=("AUROC",))
    rows = list(csv.DictReader(io.StringIO(board_csv(found))))
    names = ("PublicScore", "PublicRank", "ShakeUp", "Score AUROC")
    assert tuple(rows[0])[-4:] == names
    assert [[row[name] for name in names] for row in rows] == [["2.50", "1", "-2", "7.00"], [""] * 4]


def test_r_squared_is_there_where_it_is_asked_for():
    scored = replace(TEAM, score=Score(2.5, 2.0, 0.9, 10, r_squared=0.8125))
    asking = replace(BOARD, standings=(scored, KIT), asked=("R squared",))
    rows = [(row["Spearman"], row["RSquared"]) for row in csv.DictReader(io.StringIO(board_csv(asking)))]
    assert rows == [("0.90", "0.81"), ("", "")]
    assert "RSquared" not in board_csv(replace(asking, detailed=False)), "while it runs"


def test_the_markdown_has_the_pages_columns_that_hold_something():
    assert board_markdown(BOARD).splitlines() == [
        "| Rank | Team | Public score | 95 % interval | Submissions | MAE | Spearman | Skill | Rank group |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 1 | a | 2.50 | 2.1–3.0 | 3 | 2.00 | 0.90 | 0.94 | 1 2 |",
        "|  | constant (baseline) | 5.00 |  |  | 4.00 |  | 0.00 | 3 |",
    ]
    validation = Board("validation", (replace(KIT, skill=math.nan),), 1)
    assert board_markdown(validation).splitlines()[0] == "| Method | Validation score | MAE | Rank group |"
    assert board_markdown(Board("public", (), 2)) == "No submission yet."


@pytest.mark.parametrize("name", ["=1+1", "-1", "@a", "\tx"])
def test_names_that_a_spreadsheet_would_run_are_guarded(name):
    lines = (replace(KIT, name=name, score=Score(5.0, 4.0, -0.25, 10)),)
    (row,) = csv.DictReader(io.StringIO(board_csv(replace(BOARD, standings=lines)), newline=""))
    assert row["TeamName"] == (f"'{name}" if name.isprintable() else "'\ufffdx")
    assert row["Spearman"] == "-0.25"


def test_the_legend_says_what_is_in_a_group_of_sets():
    board = Board("private", (replace(TEAM, further=(7.0, 8.0)),), 2, further=("AUROC", "new"))
    auroc, new = columns(board)[-2:]
    assert auroc.legend == ""
    assert "operations that no meta-train set has" in new.legend
