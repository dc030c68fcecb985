"""From a submission to the leaderboard on the command line, in either track."""

import csv
import json
import re
import zipfile
from datetime import datetime, timezone
from pathlib import Path

import pytest
from command_line import run
from rules import with_rules

from leaderboard.ledger import opened
from submission.predictions import write_predictions
from submission.solution import solution_of


def test_from_submission_to_finals_and_corrections(host):
    sample = "comp/public/sample_submission.csv"
    for number in (1, 2, 3):
        text = run("score", "comp", sample, "--team", "Ada").text
        assert f"\n{number}           public RMSE " in text
    Path("bad.csv").write_text("id,prediction\n")
    result = run("score", "comp", "bad.csv", "--team", "ada", check=False)
    assert (result.code, "id 'cnn/test_0001' is missing" in result.text) == (1, True)
    assert run("select", "comp", "--team", "ada", 3).text.startswith("ada: submission 3 counts at the end\n")
    assert stars("ADA") == ["1", "2", "3*", "4"]
    chosen = run("select", "comp", "--team", "ada", 3, 1).text
    assert chosen.startswith("ada: submissions 3 and 1 count at the end\n")
    assert run("select", "comp", "--team", "ada").text.startswith("ada: the best two count\n")
    assert stars("ADA") == ["1*", "2*", "3", "4"]
    asked = ["rescore", "comp", "--label", "cnn/test_0001=0.5", "--void", "test_0002"]
    text = run(*asked, "--reason", "a mix-up").text
    assert text.startswith(
        "cnn/test_0001: 90.00 % -> 50.00 %\nsubmissions scored again: 3; the ledger's head is "
    )
    assert not [path for path in Path("comp").glob("leaderboard*") if "50.00 %" in path.read_text()]
    head = re.search(r"[0-9a-f]{64}", text)[0]
    text = run("verify", "comp", "--head", head).text
    assert text == f"rows: 12, submissions: 4, head {head}\nthe ledger is unaltered\n"


def test_a_team_gets_a_receipt_and_a_history(host):
    sample = "comp/public/sample_submission.csv"
    text = run("score", "comp", sample, "--team", "Ada", "--note", "the sample").text
    assert "Ada is a new team" in text
    assert "receipt for the team: comp/receipts/0001.json\n" in text
    again = run("score", "comp", sample, "--team", "Ada").text
    assert [line.split("  ")[-1].strip() for line in again.splitlines()[:2]] == ["same file as", "1"]
    listed = json.loads(run("history", "comp", "--json").text)
    assert [line["number"] for line in listed] == [1, 2]
    assert f"public RMSE {listed[0]['rmse']['public']:.2f} points" in again
    assert "  the sample\n" in run("history", "comp").text
    assert run("history", "comp", "--team", "B", check=False).code == 2
    Path("comp/private").rename("private")
    assert "only the organizer" in run("history", "comp", check=False).text


def test_a_hidden_competition_wants_teams_to_be_registered(host, competition):
    with_rules(competition, visibility="hidden")
    sample = "comp/public/sample_submission.csv"
    result = run("score", "comp", sample, "--team", "Ada", check=False)
    assert (result.code, "not registered" in result.text) == (2, True)
    first = run("score", "comp", sample, "--team", "Ada", "--new-team").text
    assert "Ada is a new team" in first
    assert "entered; there are no scores before the end" in run("score", "comp", sample, "--team", "ada").text
    run("pack", "comp", "--out", "comp.zip")
    readme = zipfile.ZipFile("comp.zip").read("comp/README.md").decode()
    assert "\n- There are no scores before the end.\n" in readme
    assert "The answer to a submission" not in readme


def stars(team):
    """The numbers of a team's submissions, with a star where they count."""
    listed = run("history", "comp", "--team", team).text.splitlines()
    return [line.split()[0] for line in listed[1:-1]]


def test_a_later_deadline_after_the_end_is_doubted_and_the_board_says_what_works(host, competition):
    past = with_rules(competition, deadline=datetime(2026, 1, 1, tzinfo=timezone.utc))
    run("leaderboard", past.root, "--final")
    said = run("amend", past.root, "--deadline", "2999-01-01", "--reason", "why").text
    assert "warning: private scores are published: who submits from now on can know them" in said
    private = past.root / "leaderboard_private.csv"
    assert f"is final: remove {private}, or, after all deadlines, give --final" in said
    private.unlink()
    assert "Teams, with public scores" in run("leaderboard", past.root).text


def test_auroc_counts_for_no_rank(ood_competition, monkeypatch):
    monkeypatch.chdir(ood_competition.root.parent)
    right = {
        row.id: row.prediction
        for metric in ood_competition.metrics
        for row in solution_of(ood_competition, metric)
    }
    for name, wrong in (("Good", "auroc"), ("Bad", "fpr95")):
        spoilt = {key: 0.0 if f":{wrong}/" in key else value for key, value in right.items()}
        write_predictions(Path("mine.csv"), spoilt)
        text = run("score", "comp", "mine.csv", "--team", name).text
        assert ("public RMSE 0.00 points" in text) == (name == "Good")
    with Path("comp/leaderboard.csv").open() as file:
        lines = {row["TeamName"]: row for row in csv.DictReader(file)}
    assert (lines["Good"]["Rank"], lines["Good"]["Score"]) == ("1", "0.00")
    assert (lines["Bad"]["Rank"], float(lines["Bad"]["Score"]) > 10) == ("2", True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["score", "comp", "comp/public/sample_submission.csv"], 2, "--val"),
        (["score", "comp", "comp/public/sample_submission.csv", "--val"], 1, "none of its ids"),
        (["score", "comp", "x.csv", "--val", "--note", "mine"], 2, "--note"),
        (["score", "comp", "x.csv", "--team", "a", "--note", "x" * 201], 2, "--note must be a line"),
        (["select", "comp", "--team", "nobody", "1"], 2, "'nobody' is not registered"),
        (["rescore", "comp", "--label", "x=nan", "--reason", "r"], 2, "--label x=nan: give ID=FRACTION"),
        (["rescore", "comp"], 2, "--reason"),
        (["export", "kaggle", "comp", "--start", "1.12.2026"], 2, "--start: a time as 2026-12-31T23:59"),
        (["verify", "comp", "--head", "ab"], 2, "not the published head ab"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, host):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text


def test_a_backup_is_told_and_the_board_goes_where_it_is_asked_for(competition, halves, tmp_path):
    root, file = competition.root, tmp_path / "backup.zip"
    run("score", root, halves, "--team", "A")
    with opened(competition) as ledger:
        assert run("backup", root, file).text == f"{file}, with the ledger up to head {ledger.head}\n"
    for path in root.glob("leaderboard*"):
        path.unlink()
    assert "on all test sets" not in run("leaderboard", root, "--out", tmp_path / "web").text
    assert (tmp_path / "web/leaderboard.html").is_file()
    assert not list(root.glob("leaderboard*"))
    assert "on all test sets" in run("leaderboard", root, "--table").text


def test_a_team_learns_that_its_file_is_entered_whatever_stops_the_board(competition, halves):
    (competition.root / "leaderboard.md").mkdir()
    result = run("score", competition.root, halves, "--team", "A", check=False)
    assert result.code == 0
    assert "\n1           public RMSE " in result.text
    assert "warning: this is entered, but the leaderboard was not written again: " in result.text


def test_whoever_interrupts_a_submission_looks_before_it_is_handed_in_again(competition, halves, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("leaderboard.submissions.registered", interrupted)
    result = run("score", competition.root, halves, "--team", "A", check=False)
    assert result.code == 2
    assert "only if `unseen history` does not list it" in result.text


def test_names_of_files_do_nothing_to_a_terminal(competition, halves, tmp_path):
    name = tmp_path / "a\x1b[2J\u202e.csv"
    name.write_bytes(halves.read_bytes())
    assert run("validate", competition.root, name).text.replace("\n", "").isprintable()
    name.write_text("id,prediction\n")
    result = run("score", competition.root, name, "--team", "A", check=False)
    assert result.text.replace("\n", "").isprintable()
    assert "a\\x1b[2J\\u202e.csv is not a valid submission" in result.text
