"""Scoring and the leaderboard as functions."""

import html

import unseen
from submission import Score, write_predictions


def test_a_file_is_scored_and_a_team_stands_on_the_board(competition, tmp_path):
    for part in ("val", "test"):
        write_predictions(tmp_path / f"{part}.csv", dict.fromkeys(competition.ids(part), 0.5))
    found = unseen.score(competition, tmp_path / "val.csv")
    assert isinstance(found, Score)
    assert unseen.score(competition, tmp_path / "test.csv", team="A & B").number == 1
    board = unseen.leaderboard(competition)
    assert [line.name for line in board.standings if line.kind == "team"] == ["A & B"]
    assert "A &amp; B" in html.unescape(board._repr_html_())
    assert board.html.is_file()
