"""A competition with a ledger that version 1.0 made opens, predicts, scores, verifies and publishes as it did.

tests/data/competition-b9cb67b.zip holds it without its cache, and the module of its classifier's network: five classes
of 16 x 16 pixels, six test sets, two teams, three submissions, a choice of what counts, and a correction.
"""

import csv
import re
import sys
import zipfile
from pathlib import Path

import pytest
from command_line import run

from submission import Competition, read_predictions

PLACES = {"submissions": "test", "validation": "val"}
KEPT = Path(__file__).with_name("data") / "competition-b9cb67b.zip"
HEADS = (
    "466d87e08c41c0e5f8fc673ea25455653b09c20c9a873587fe8a21ddae54028c",
    "bfe67ef7a7729af342cf0468e8a06cdf6c535ae8c33f6782c6375afc522f3b39",
    "05fcd2127821e32559eaac8f1fc4f06f745cfcd8c9679c6dd634028fdc66ba4b",
)
"""Of the first row, of the correction and of the last row."""
HISTORY = (
    ("1", "Ada", "35.06", "35.84", "34.53", "12.50", "35.48", "41.67"),
    ("2*", "Ada", "37.57", "41.63", "34.60", "12.63", "38.50", "44.36"),
    ("3*", "Bob & Co", "11.83", "15.49", "8.57", "13.54", "3.76", "15.62"),
)
"""Number, team, and the RMSE overall, public, private and by group."""


@pytest.fixture
def old(tmp_path, monkeypatch):
    """The competition in `competition` in the working folder."""
    with zipfile.ZipFile(KEPT) as archive:
        archive.extractall(tmp_path)  # the test's own archive
    (tmp_path / "competition/private").chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tiny_net", raising=False)  # that of another test's folder
    return Competition.open("competition")


def test_its_ledger_is_whole_and_goes_on(old):
    told = run("verify", "competition", *(word for head in HEADS for word in ("--head", head))).text
    assert told.startswith(f"8 rows, 3 submissions, head {HEADS[-1]}\n")
    assert told.endswith("the ledger is unaltered\n")
    lines = run("history", "competition").text.splitlines()[1:-1]
    found = [re.split(" {2,}", line.strip()) for line in lines]
    assert [(first.split()[0], *rest[-7:]) for first, *rest in found] == list(HISTORY)
    entered = run("score", "competition", "competition/submissions/atc.csv", "--team", "Ada").text
    assert "Ada: public RMSE 35.84 points\n" in entered
    assert run("verify", "competition", "--head", HEADS[-1]).text.startswith("9 rows, 4 submissions, head ")


def test_its_predictions_and_scores_are_what_they_were(old):
    places = [old.root / name / f"{method}.csv" for name in PLACES for method in ("atc", "constant")]
    kept = {path: path.read_bytes() for path in places}
    for path in kept:
        path.unlink()
    run("predict", "competition", "atc", "constant", "--network", "tiny_net:make")
    for path, before in kept.items():
        ids = old.ids(PLACES[path.parent.name])
        found = read_predictions(path, ids)
        path.write_bytes(before)
        close = 0.03 if path.stem == "fd" else 1e-9  # which has a smaller bias on few images now
        assert found == pytest.approx(read_predictions(path, ids), abs=close)
    for method, rmse in (("atc", "35.48"), ("fd", "26.06")):
        told = run("score", "competition", f"competition/validation/{method}.csv", "--val").text
        assert f"RMSE         {rmse} points over 2 predictions\n" in told


def test_its_leaderboard_is_what_it_was(old):
    columns = (
        "Rank",
        "TeamId",
        "TeamName",
        "LastSubmissionDate",
        "Score",
        "SubmissionCount",
        "Kind",
    )
    boards = []
    for _ in range(2):
        with (old.root / "leaderboard.csv").open(newline="", encoding="utf-8") as file:
            boards.append([[row[name] for name in columns] for row in csv.DictReader(file)])
        told = run("leaderboard", "competition").text
    before, now = ([line for line in board if line[-1] == "team"] for board in boards)
    assert before == now == boards[1]  # with two public rows a baseline would tell their labels
    assert len(now) == 2
    unknown = f"warning: left out {Path('competition/submissions/atc.csv')}: there is no record that `unseen predict`"
    assert unknown in told, "which version 1.0 did not keep"
    run("predict", "competition", "atc", "constant", "--network", "tiny_net:make")
    told = run("leaderboard", "competition").text
    assert "atc          35.06" in told
    assert unknown not in told
