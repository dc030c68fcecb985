"""What `unseen history` lists: every submission with its scores by part; and what a receipt holds."""

import json

import pytest

from leaderboard.history import history, history_table
from leaderboard.submissions import receipt_file, submit
from submission import InvalidSubmission, UnusableInput


@pytest.fixture
def entered(competition, halves, perfect, clock):
    """Halves of Team A, perfect predictions of B, and an invalid file of Team A."""
    submit(competition, halves, "Team A", clock, note="  all halves <b>")
    submit(competition, perfect, "B", clock)
    bad = halves.with_name("bad.csv")
    bad.write_text("")
    with pytest.raises(InvalidSubmission):
        submit(competition, bad, "team a", clock)
    return competition


def test_scores_by_part_classifier_and_group_worked_out_by_hand(entered):
    """Errors of halves in points: cnn 40 20 0 20, vit:b 30 30 10 40; test_0001 and 3 public, 1 and 2 seen."""
    first, second, third = history(entered)
    assert first["rmse"] == pytest.approx(
        {
            "overall": (5900 / 8) ** 0.5,
            "public": (2600 / 4) ** 0.5,
            "private": (3300 / 4) ** 0.5,
            "[cnn]": (2400 / 4) ** 0.5,
            "[vit:b]": (3500 / 4) ** 0.5,
            "(seen)": (3800 / 4) ** 0.5,
            "(new)": (2100 / 4) ** 0.5,
        }
    )
    assert set(second["rmse"].values()) == {0}
    assert third["rmse"] == {}
    assert [record["number"] for record in history(entered, "TEAM A")] == [1, 3]
    with pytest.raises(UnusableInput, match="nothing was submitted by team 'C'"):
        history(entered, "C")
    _, *lines, _ = history_table(entered, history(entered, "TEAM A")).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "1* 2026-01-01 01:00:00 Team A halves.csv 27.16 25.50 28.72 24.49 29.58 22.91 30.82 scored all halves <b>",
        "3 2026-01-01 03:00:00 Team A bad.csv invalid",
    ]


def test_a_receipt_holds_the_answer_and_the_rows_hash(entered):
    kept = json.loads(receipt_file(entered, 1).read_text())
    assert kept.pop("row") in receipt_file(entered, 1).read_text()
    assert kept == {
        "competition": entered.name,
        "number": 1,
        "team": "Team A",
        "time": "2026-01-01T01:00:00+00:00",
        "file": "halves.csv",
        "digest": history(entered)[0]["digest"],
        "note": "all halves <b>",
        "score": 25.5,
        "answer": "public RMSE 25.50 points, from 4 of 8 predictions",
        "rows": 4,
        "left": None,
        "same": None,
        "created": True,
    }
    assert receipt_file(entered, 1).parent.stat().st_mode & 0o777 == 0o700
