"""Scoring and the leaderboard as functions."""

import html

import pytest

import unseen
from submission import Score, UnusableInput, write_predictions


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


@pytest.mark.parametrize(
    "call",
    [
        lambda folder: unseen.evaluate(folder, "atc"),
        lambda folder: unseen.predict(folder, "atc"),
        lambda folder: unseen.score(folder, "mine.csv"),
        unseen.leaderboard,
    ],
)
def test_a_folder_has_to_be_opened_first(call):
    with pytest.raises(
        UnusableInput, match=r"^'contest' is no competition: unseen.open\(folder\) returns one"
    ):
        call("contest")
